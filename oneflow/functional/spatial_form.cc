#include "oneflow/functional/spatial_form.h"

#include "oneflow/functional/generated/functional_view.h"

namespace oneflow::functional {

Maybe<SpatialForm> SpatialForm::Parse(const char* op, const std::string& channel_pos) {
  SpatialForm form;
  if (channel_pos == "channels_last") {
    form.channels_last_ = true;
  } else if (channel_pos != "channels_first") {
    return ValueError("[{}] expects channels_first or channels_last, got '{}'", op, channel_pos);
  }
  return form;
}

Maybe<TensorPtr> SpatialForm::Enter(const char* op, const TensorPtr& input, int spatial) {
  batched_ = input->ndim() == spatial + 2;
  if (!batched_ && input->ndim() != spatial + 1) {
    return RuntimeError("[{}] expects input of {} dimensions (a batch), or {} (without batch), got "
                        "{}",
                        op, spatial + 2, spatial + 1, input->shape());
  }
  return ChannelsToFront(batched_ ? input : JUST(unsqueeze(input, 0)));
}

Maybe<TensorPtr> SpatialForm::Leave(const TensorPtr& output) const {
  const TensorPtr moved = JUST(ChannelsToBack(output));
  if (batched_) { return moved; }
  return squeeze(moved, Dims{0});
}

Maybe<TensorPtr> SpatialForm::ChannelsToFront(const TensorPtr& t) const {
  if (!channels_last_ || t->ndim() < 3) { return t; }
  Dims order{0, t->ndim() - 1};
  for (int d = 1; d + 1 < t->ndim(); ++d) { order.PushBack(d); }
  return permute(t, order);
}

Maybe<TensorPtr> SpatialForm::ChannelsToBack(const TensorPtr& t) const {
  if (!channels_last_ || t->ndim() < 3) { return t; }
  Dims order{0};
  for (int d = 2; d < t->ndim(); ++d) { order.PushBack(d); }
  order.PushBack(1);
  return permute(t, order);
}

}  // namespace oneflow::functional
