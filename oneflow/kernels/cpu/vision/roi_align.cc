// The kernels roi_align, roi_align_grad and nms.
//
// Source: He et al., "Mask R-CNN", arXiv:1703.06870, section 3 (RoIAlign).
#include <algorithm>
#include <cmath>
#include <cstring>

#include "oneflow/device/cpu/parallel.h"
#include "oneflow/kernels/attrs_spatial.h"
#include "oneflow/kernels/cpu/cost.h"
#include "oneflow/kernels/cpu/dense_call.h"
#include "oneflow/kernels/cpu/vision/bilinear.h"
#include "oneflow/kernels/kernel.h"

namespace oneflow {
namespace cpu {

namespace {

// Where the samples of one region lie, in pixels of the image.
struct Region {
  int64_t image;  // in the batch
  double x, y;    // of its corner
  double bin_w, bin_h;
  int64_t samples_w, samples_h;  // in each bin, each way

  double SampleX(int64_t bin, int64_t i) const { return Sample(x, bin_w, samples_w, bin, i); }
  double SampleY(int64_t bin, int64_t i) const { return Sample(y, bin_h, samples_h, bin, i); }

 private:
  static double Sample(double start, double bin_size, int64_t samples, int64_t bin, int64_t i) {
    return start + static_cast<double>(bin) * bin_size +
           (static_cast<double>(i) + 0.5) * bin_size / static_cast<double>(samples);
  }
};

int64_t SamplesOf(const RoiAlignAttrs& attrs, double bin_size) {
  if (attrs.sampling_ratio > 0) { return attrs.sampling_ratio; }
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(bin_size)));
}

template <typename T>
Region RegionOf(const RoiAlignAttrs& attrs, const T* roi) {
  const double offset = attrs.aligned ? 0.5 : 0.0;
  const auto scaled = [&](int i) {
    return static_cast<double>(roi[i]) * attrs.spatial_scale - offset;
  };
  Region r;
  r.image = static_cast<int64_t>(roi[0]);
  r.x = scaled(1);
  r.y = scaled(2);
  double width = scaled(3) - r.x;
  double height = scaled(4) - r.y;
  if (!attrs.aligned) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  r.bin_w = width / static_cast<double>(attrs.pooled_w);
  r.bin_h = height / static_cast<double>(attrs.pooled_h);
  r.samples_w = SamplesOf(attrs, r.bin_w);
  r.samples_h = SamplesOf(attrs, r.bin_h);
  return r;
}

// Calls body(bin, four elements with weights) for each sample of the region; weights are divided by
// the number of samples in a bin.
template <typename Body>
void ForEachSample(const RoiAlignAttrs& attrs, const Region& r, int64_t height, int64_t width,
                   const Body& body) {
  const double share = 1.0 / static_cast<double>(r.samples_w * r.samples_h);
  for (int64_t ph = 0; ph < attrs.pooled_h; ++ph) {
    for (int64_t pw = 0; pw < attrs.pooled_w; ++pw) {
      for (int64_t i = 0; i < r.samples_h; ++i) {
        for (int64_t j = 0; j < r.samples_w; ++j) {
          const Bilinear at = ClampedBilinear(r.SampleY(ph, i), r.SampleX(pw, j), height, width);
          if (at.inside) { body(ph * attrs.pooled_w + pw, at, share); }
        }
      }
    }
  }
}

// Index of the image of each region; -1: all are in the batch.
template <typename T>
int64_t FirstBadRegion(const ArrayView& rois, int64_t batch) {
  for (int64_t k = 0; k < rois.shape[0]; ++k) {
    const auto image = static_cast<double>(rois.Data<T>()[k * 5]);
    if (!(image >= 0 && image < static_cast<double>(batch))) { return k; }
  }
  return -1;
}

// x (N, C, H, W), rois (K, 5) -> (K, C, ph, pw); or grad (K, C, ph, pw), rois -> (N, C, H, W).
template <typename T, bool kGradient>
Maybe<void> RunRegions(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<RoiAlignAttrs>();
  const ArrayView& image = kGradient ? call.outputs[0] : call.inputs[0];
  const ArrayView& pooled = kGradient ? call.inputs[0] : call.outputs[0];
  const ArrayView& rois = call.inputs[1];
  const int64_t bad = FirstBadRegion<T>(rois, image.shape[0]);
  if (bad >= 0) {
    return IndexError("[roi_align] expects the first number of a region to be an image of the "
                      "batch, in [0, {}), got {} in region {}",
                      image.shape[0], static_cast<double>(rois.Data<T>()[bad * 5]), bad);
  }
  const int64_t channels = image.shape[1];
  const int64_t height = image.shape[2];
  const int64_t width = image.shape[3];
  const int64_t pixels = height * width;
  const int64_t bins = attrs.pooled_h * attrs.pooled_w;
  const ArrayView& out = call.outputs[0];
  std::memset(out.data, 0, sizeof(T) * static_cast<size_t>(out.Count()));
  const auto run = [&](int64_t k, int64_t first, int64_t last) {
    const Region r = RegionOf(attrs, rois.Data<T>() + k * 5);
    T* plane = image.Data<T>() + r.image * channels * pixels;
    T* values = pooled.Data<T>() + k * channels * bins;
    ForEachSample(attrs, r, height, width, [&](int64_t bin, const Bilinear& at, double share) {
      for (int64_t c = first; c < last; ++c) {
        for (int t = 0; t < 4; ++t) {
          T& pixel = plane[c * pixels + at.offset[t]];
          T& value = values[c * bins + bin];
          const T weight = static_cast<T>(at.weight[t] * share);
          kGradient ? pixel += value* weight : value += pixel * weight;
        }
      }
    });
  };
  if (kGradient) {
    // By channels: regions overlap.
    ParallelFor(call.threads, channels, 8, [&](int64_t begin, int64_t end) {
      for (int64_t k = 0; k < rois.shape[0]; ++k) { run(k, begin, end); }
    });
  } else {
    ParallelFor(call.threads, rois.shape[0], 1, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) { run(k, 0, channels); }
    });
  }
  return Ok();
}

template <bool kGradient>
Maybe<void> RunRoiAlign(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) -> Maybe<void> {
    return dense.outputs[0].dtype == DataType::kDouble ? RunRegions<double, kGradient>(dense)
                                                       : RunRegions<float, kGradient>(dense);
  });
}

size_t Scratch(const KernelCall& call) { return DenseCall::ScratchBytes(call); }

double Cost(const KernelCall& call) {
  const auto& attrs = call.GetAttrs<RoiAlignAttrs>();
  const auto values =
      static_cast<double>(std::min(call.inputs[0].Count(), call.outputs[0].Count()));
  const double samples = attrs.sampling_ratio > 0
                             ? static_cast<double>(attrs.sampling_ratio * attrs.sampling_ratio)
                             : 4.0;
  return 300.0 + values * samples * 4.0 + MemoryCostNs(BytesOf(call.outputs[0]));
}

// ---- nms ----------------------------------------------------------------------------------------

// Intersection over union of boxes (x1, y1, x2, y2).
template <typename T>
double Overlap(const T* a, const T* b) {
  const auto size = [](T low, T high) { return std::max(0.0, static_cast<double>(high - low)); };
  const auto area = [](const T* box) {
    return static_cast<double>(box[2] - box[0]) * static_cast<double>(box[3] - box[1]);
  };
  const double both = size(std::max(a[0], b[0]), std::min(a[2], b[2])) *
                      size(std::max(a[1], b[1]), std::min(a[3], b[3]));
  return both / (area(a) + area(b) - both);
}

template <typename T>
void Suppress(const NmsAttrs& attrs, const ArrayView& boxes, int8_t* keep) {
  const int64_t n = boxes.shape[0];
  const T* box = boxes.Data<T>();
  std::memset(keep, 1, static_cast<size_t>(n));
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (keep[i] == 0) { continue; }
    if (attrs.keep_n >= 0 && kept >= attrs.keep_n) {
      keep[i] = 0;
      continue;
    }
    ++kept;
    for (int64_t j = i + 1; j < n; ++j) {
      if (keep[j] != 0 && Overlap(box + i * 4, box + j * 4) > attrs.iou_threshold) { keep[j] = 0; }
    }
  }
}

Maybe<void> RunNms(const KernelCall& call) {
  return RunDense(call, [](const KernelCall& dense) -> Maybe<void> {
    const auto& attrs = dense.GetAttrs<NmsAttrs>();
    auto* keep = dense.outputs[0].Data<int8_t>();
    if (dense.inputs[0].dtype == DataType::kDouble) {
      Suppress<double>(attrs, dense.inputs[0], keep);
    } else {
      Suppress<float>(attrs, dense.inputs[0], keep);
    }
    return Ok();
  });
}

double NmsCost(const KernelCall& call) {
  const auto n = static_cast<double>(call.outputs[0].Count());
  return 100.0 + n * n * 2.0;
}

}  // namespace

ONEFLOW_REGISTER_KERNEL(roi_align, {"roi_align.cpu.samples", &RunRoiAlign<false>,
                                    &AcceptOneFloatingDtype, &Cost, &Scratch});
ONEFLOW_REGISTER_KERNEL(roi_align_grad, {"roi_align_grad.cpu.samples", &RunRoiAlign<true>,
                                         &AcceptOneFloatingDtype, &Cost, &Scratch});
ONEFLOW_REGISTER_KERNEL(nms, {"nms.cpu.greedy", &RunNms, nullptr, &NmsCost, &Scratch});

}  // namespace cpu
}  // namespace oneflow
