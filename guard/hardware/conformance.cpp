// The conformance tests of gpusim against the driver of this machine: `conformance LIBCUDA`.
#include <gtest/gtest.h>

#include "guard/hardware/machine.hpp"

int main(int argc, char** argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: conformance LIBCUDA [--gtest_filter=PATTERNS]\n");
        return 2;
    }
    tessera::guard::set_driver(argv[1]);
    return testing::run_all_tests(argc, argv);
}
