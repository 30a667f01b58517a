// A planted fault, in device code only: the build must fail here.
__global__ void Broken(int* x) { *x = no_such_name; }
