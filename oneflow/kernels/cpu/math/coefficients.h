// The coefficients of the functions of this folder.
//
// Own work: each polynomial interpolates its function at Chebyshev's nodes of the interval that is
// said with it, computed with 60 digits; of the lowest degree that keeps the function's error below
// a quarter of a unit in the last place.
#ifndef ONEFLOW_KERNELS_CPU_MATH_COEFFICIENTS_H_
#define ONEFLOW_KERNELS_CPU_MATH_COEFFICIENTS_H_

namespace oneflow {
namespace cpu {
namespace {

template <typename T>
struct Coefficients;
template <>
struct Coefficients<float> {
  // (e^r - 1 - r) / r^2, |r| <= ln(2) / 2.
  static constexpr float kExp[] = {0x1p-1f, 0x1.5554dep-3f, 0x1.55551ap-5f, 0x1.120b62p-7f,
                                   0x1.6d10fcp-10f};
  // (log(1 + f) - f + f^2 / 2) / f^3, 1 + f from sqrt(1/2) to sqrt(2).
  static constexpr float kLog[] = {0x1.555554p-2f,  -0x1.fffffcp-3f, 0x1.999d5ap-3f,
                                   -0x1.555b4ap-3f, 0x1.23d21ap-3f,  -0x1.fcf4c6p-4f,
                                   0x1.dea282p-4f,  -0x1.d635bcp-4f, 0x1.1d8ea6p-4f};
  // (sin(r) / r - 1) / r^2 in r^2, |r| <= pi / 4.
  static constexpr float kSin[] = {-0x1.555552p-3f, 0x1.110c1p-7f, -0x1.9abc2cp-13f};
  // (cos(r) - 1 + r^2 / 2) / r^4 in r^2, |r| <= pi / 4.
  static constexpr float kCos[] = {0x1.555554p-5f, -0x1.6c12bep-10f, 0x1.9bcdc6p-16f};
  // (asin(r) / r - 1) / r^2 in r^2, |r| <= 1 / 2.
  static constexpr float kAsin[] = {0x1.55555ep-3f, 0x1.332732p-4f, 0x1.70a6bcp-5f, 0x1.b311d2p-6f,
                                    0x1.37fe16p-5f};
  // (atan(r) / r - 1) / r^2 in r^2, |r| <= tan(pi / 8).
  static constexpr float kAtan[] = {-0x1.555554p-2f, 0x1.99973p-3f, -0x1.242036p-3f, 0x1.b8103p-4f,
                                    -0x1.08455ep-4f};
  // (sinh(r) / r - 1) / r^2 in r^2, |r| <= 1.
  static constexpr float kSinh[] = {0x1.555556p-3f, 0x1.11111ep-7f, 0x1.a009p-13f, 0x1.78a70ep-19f};
  // erf(r) / r - 1 in r^2, |r| <= 1.
  static constexpr float kErf[] = {0x1.06eba8p-3f, -0x1.81273ep-2f,  0x1.ce2d1p-4f, -0x1.b7fabap-6f,
                                   0x1.54127p-8f,  -0x1.a45088p-11f, 0x1.4a569p-14f};
  // erfc(x) exp(x^2) / u in u = 1 / (x + 2), x >= 1.
  static constexpr float kErfc[] = {0x1.20de5p-1f,   0x1.20d0ecp+0f, 0x1.f9a76ap+0f,
                                    0x1.6eb7f4p+1f,  0x1.edbca6p+0f, 0x1.564adcp+2f,
                                    -0x1.d13b8ap+4f, 0x1.8031acp+4f};
};
template <>
struct Coefficients<double> {
  // (e^r - 1 - r) / r^2, |r| <= ln(2) / 2.
  static constexpr double kExp[] = {
      0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d68p-5,  0x1.11111111109b5p-7,
      0x1.6c16c17889ef1p-10, 0x1.a01a01a7c2efep-13, 0x1.a019b9149a41cp-16, 0x1.71de0db2f6b19p-19,
      0x1.28917c89a43a7p-22, 0x1.af389ecfc4b9cp-26};
  // (2 atanh(s) / s - 2) / s^2 in s^2, s = f / (2 + f), 1 + f from sqrt(1/2) to sqrt(2).
  static constexpr double kLog[] = {
      0x1.5555555555555p-1, 0x1.9999999999a38p-2, 0x1.2492492476cccp-2, 0x1.c71c720159177p-3,
      0x1.745cf9048dd95p-3, 0x1.3b1c355a8f7a2p-3, 0x1.0fbe95d716020p-3, 0x1.0c039c49989c6p-3};
  // (sin(r) / r - 1) / r^2 in r^2, |r| <= pi / 4.
  static constexpr double kSin[] = {-0x1.5555555555555p-3,  0x1.1111111110b6cp-7,
                                    -0x1.a01a019e73325p-13, 0x1.71de3781495ffp-19,
                                    -0x1.ae5ff4f957b14p-26, 0x1.5e0333e3ccba1p-33};
  // (cos(r) - 1 + r^2 / 2) / r^4 in r^2, |r| <= pi / 4.
  static constexpr double kCos[] = {0x1.5555555555555p-5,  -0x1.6c16c16c16944p-10,
                                    0x1.a01a019f4671dp-16, -0x1.27e4fa0d3726cp-22,
                                    0x1.1eeb5de1e2b95p-29, -0x1.9075bb669682cp-37};
  // (asin(r) / r - 1) / r^2 in r^2, |r| <= 1 / 2.
  static constexpr double kAsin[] = {
      0x1.555555555554fp-3, 0x1.3333333336da5p-4, 0x1.6db6db684b6a1p-5,  0x1.f1c71f95269afp-6,
      0x1.6e8b2b3b10be4p-6, 0x1.1c593c7b1d958p-6, 0x1.c87265d47ef49p-7,  0x1.8522ddffa6208p-7,
      0x1.ff5fc4d14c735p-8, 0x1.06b9d26d10838p-6, -0x1.603991d6060e0p-7, 0x1.cd864394d2ff2p-6};
  // (atan(r) / r - 1) / r^2 in r^2, |r| <= tan(pi / 8).
  static constexpr double kAtan[] = {
      -0x1.5555555555555p-2, 0x1.999999999934cp-3, -0x1.2492492436201p-3, 0x1.c71c71853d7fap-4,
      -0x1.745d0b28a7e37p-4, 0x1.3b1263064f6b9p-4, -0x1.10fa77b1a6d57p-4, 0x1.dfe6497e96323p-5,
      -0x1.a0999c632b6edp-5, 0x1.4162c02b1dda3p-5, -0x1.3a31b1c0fd3b7p-6};
  // (sinh(r) / r - 1) / r^2 in r^2, |r| <= 1.
  static constexpr double kSinh[] = {
      0x1.5555555555555p-3,  0x1.11111111110fdp-7,  0x1.a01a01a01ee70p-13, 0x1.71de3a4e14f40p-19,
      0x1.ae6460fae3728p-26, 0x1.611cb330c1fe8p-33, 0x1.b41232cf9950fp-41};
  // erf(r) / r - 1 in r^2, |r| <= 1.
  static constexpr double kErf[] = {
      0x1.06eba8214db69p-3,  -0x1.812746b0379e6p-2,  0x1.ce2f21a042b30p-4,  -0x1.b82ce31284e00p-6,
      0x1.565bcd0dbaa38p-8,  -0x1.c02db3dac435fp-11, 0x1.f9a321d5b8e1ep-14, -0x1.f4d1e3183f7aep-17,
      0x1.b9df224ca4b97p-20, -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27, -0x1.389d4f2641625p-30,
      0x1.05ffd737fb32ep-34};
  // erfc(x) exp(x^2) / u in u = 1 / (x + 2), x >= 1.
  static constexpr double kErfc[] = {
      0x1.20dd750439a27p-1,  0x1.20dd74fe2e132p+0,   0x1.f9838ed5cc323p+0,  0x1.69149b3761dd8p+1,
      0x1.570ed7260068ap+1,  -0x1.2762859bc7daap-2,  -0x1.c8bc643036e95p+2, -0x1.f4e1ffc1c997cp+3,
      0x1.5fce8f6755e2ep+4,  -0x1.66a710f86cad0p+7,  0x1.d40d2f00456ddp+10, -0x1.4fef6464775d7p+13,
      0x1.8c7bb80419393p+15, -0x1.789f0b0297f47p+17, 0x1.08bdebb43c3dep+19, -0x1.09716eceae6d9p+20,
      0x1.728a8d1fbc67cp+20, -0x1.5868be647ba09p+20, 0x1.8181ff6918197p+19, -0x1.8b0cc7a27ff11p+17};
};

// For a start of erfinv that one step of Halley's method makes exact: erfinv(x) / x in
// w = -log(1 - x^2) up to 6.25, then in sqrt(w).
constexpr double kErfinvCentral[] = {
    0x1.c5bf70b1498e0p-1,   0x1.db33e3011f2c9p-3,   0x1.77c8a77e52a72p-7,
    -0x1.204e24db0bd37p-9,  -0x1.f9afaca35509ep-13, 0x1.9eb496b10f529p-14,
    -0x1.7e1b669b6d358p-17, 0x1.377f804b6e7d8p-21,  -0x1.5f99f4b0120c1p-27};
constexpr double kErfinvTail[] = {
    0x1.2a083eac9bc52p+1,  -0x1.a880bf796a24dp+1,  0x1.a2a840dcd33a0p+1,
    -0x1.6b3d420112de6p+0, 0x1.89f32d9f0cc54p-2,   -0x1.10afc9ec5d2bep-4,
    0x1.d5c4ded4bf361p-8,  -0x1.cbf0f68b26cf4p-12, 0x1.87ad63ffe7665p-17};

// For floats, in w - 3.125 and in sqrt(w) - 3.25.
constexpr float kErfinvCentralFloat[] = {0x1.a755e8p+0f,   0x1.ebd80ep-3f,  -0x1.8b6c68p-8f,
                                         -0x1.8456e6p-11f, 0x1.87a9bp-13f,  -0x1.d1f898p-17f,
                                         -0x1.726f1cp-20f, 0x1.c90d4cp-22f, -0x1.b8b68cp-26f,
                                         -0x1.3ca294p-28f, 0x1.7fee92p-31f};
constexpr float kErfinvTailFloat[] = {0x1.8abcc4p+1f,  0x1.0158a6p+0f, 0x1.5ff428p-8f,
                                      -0x1.eb32a8p-9f, 0x1.474338p-9f, -0x1.c2fa24p-10f,
                                      0x1.ef695ap-11f, -0x1.18f5p-12f};

// erf(x) / x in x^2 as a quotient of two polynomials, for |x| up to 3.9; 3e-8 of erf at most. By
// least squares, reweighted until the greatest error was least.
constexpr float kErfTop[] = {0x1.20dd74p+0f, 0x1.88b276p-3f,  0x1.b176bep-5f,
                             0x1.f4c2cep-9f, 0x1.2b86b4p-12f, 0x1.10dc3cp-19f};
constexpr float kErfBottom[] = {1.0f,           0x1.01abbcp-1f,  0x1.d59d1ap-4f,
                                0x1.ee1524p-7f, 0x1.3408b2p-10f, 0x1.3e663ep-15f};

// For powers of floats, in double: log2(1 + f) / f, 1 + f from sqrt(1/2) to sqrt(2); 2^r, |r| <= 1/2.
constexpr double kLog2[] = {0x1.71547652b5270p+0,  -0x1.71547651d9376p-1, 0x1.ec709de7df48dp-2,
                            -0x1.7154784e5d08ep-2, 0x1.2776b48f57946p-2,  -0x1.ec6f47f38905dp-3,
                            0x1.a61c50cd4bc62p-3,  -0x1.7186b110dbb40p-3, 0x1.480da32d9077ap-3,
                            -0x1.23e34ff2dfed7p-3, 0x1.0b872a83448f7p-3,  -0x1.140c67e94fcdep-3,
                            0x1.0c91c8ec04459p-3,  -0x1.16c9192143833p-4};
constexpr double kExp2[] = {0x1.0000000000000p+0, 0x1.62e430d034702p-1, 0x1.ebfbe045f4d3cp-3,
                            0x1.c6aecc669b6ddp-5, 0x1.3b2a1b7152befp-7, 0x1.5f48c04f62e50p-10,
                            0x1.443fffc90db59p-13};

}  // namespace
}  // namespace cpu
}  // namespace oneflow

#endif  // ONEFLOW_KERNELS_CPU_MATH_COEFFICIENTS_H_
