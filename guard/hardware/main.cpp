// The guard's own suite against the driver of this machine, in parts; `run` calls it.
#include <gtest/gtest.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

#include "gpusim/test_support/library.hpp"
#include "guard/hardware/arbitrated.hpp"
#include "guard/hardware/figures.hpp"
#include "guard/hardware/machine.hpp"

namespace tessera::guard {

// What cuMemAlloc of the named driver gives, in MiB (memory.cpp).
double take_what_there_is();

namespace {

constexpr struct {
    const char* name;
    void (*run)(Figures& figures);
} kParts[] = {
    {"memory", check_memory},
    {"questions", answer_questions},
    {"costs", check_costs},
    {"shares", check_shares},
};

int usage() {
    std::fprintf(stderr,
                 "usage: guard_hardware LIBCUDA present\n"
                 "       guard_hardware LIBCUDA [--quick] memory|questions|costs|shares\n"
                 "       guard_hardware LIBCUDA hold MEMORY_MIB PERCENT...\n");
    return 2;
}

int wrong(const std::string& text) {
    std::fprintf(stderr, "guard_hardware: %s\n", text.c_str());
    return 2;
}

// A number from 1 to `most`.
std::optional<unsigned> number_in(std::string_view text, unsigned most) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_all = error == std::errc() && end == text.data() + text.size();
    return is_all && number > 0 && number <= most ? std::optional(number) : std::nullopt;
}

// Creates containers with `shares` and prints their folders, one per line. Keeps them until stdin
// or the program ends.
void hold(const std::vector<Percents>& shares, std::uint64_t bytes) {
    // Without SA_RESTART, so that a signal ends the read below and the folders are removed.
    struct sigaction end = {};
    end.sa_handler = [](int) {};
    for (const int signal : {SIGTERM, SIGINT, SIGHUP})
        sigaction(signal, &end, nullptr);
    const ArbitratedGpu gpu(shares, bytes);
    for (std::size_t i = 0; i < shares.size(); i++)
        std::printf("%s\n", gpu.container(i).region().directory().c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
}

// Keeps containers for other programs.
int hold(int count, char** arguments) {
    constexpr unsigned kMostMib = 1U << 30U;
    const auto mib = number_in(arguments[0], kMostMib);
    if (!mib) return wrong(std::string("\"") + arguments[0] + "\" is not a number of MiB above 0");
    std::vector<Percents> shares;
    unsigned left = 100;
    for (int i = 1; i < count; i++) {
        const auto percent = number_in(arguments[i], left);
        if (!percent) {
            return wrong(std::string("\"") + arguments[i] + "\" is not a percent from 1 to the " +
                         std::to_string(left) + " that are left");
        }
        left -= *percent;
        shares.push_back({*percent, *percent});
    }
    try {
        hold(shares, std::uint64_t{*mib} << 20U);
    } catch (const std::exception& error) {
        return wrong(error.what());
    }
    return 0;
}

// Whether the driver can be loaded, and has a GPU.
int look_for_a_gpu() {
    try {
        const gpusim::Library cuda(driver_path());
        int count = 0;
        if (const CUresult result = CALL(cuda, cuInit)(0); result != CUDA_SUCCESS)
            return wrong("cuInit says " + std::to_string(result));
        if (CALL(cuda, cuDeviceGetCount)(&count) != CUDA_SUCCESS || count == 0)
            return wrong("the driver has no device");
    } catch (const std::exception& error) {
        return wrong(error.what());
    }
    return 0;
}

int run_part(const char* name, bool is_quick) {
    for (const auto& part : kParts) {
        if (std::strcmp(part.name, name) != 0) continue;
        Figures figures(is_quick);
        try {
            part.run(figures);
        } catch (const std::exception& error) {
            figures.judged(name, "to its end", error.what(), false);
        }
        return figures.all_hold() ? 0 : 1;
    }
    return usage();
}

}  // namespace
}  // namespace tessera::guard

int main(int argc, char** argv) {
    if (argc < 3) return tessera::guard::usage();
    tessera::guard::set_driver(argv[1]);
    if (std::strcmp(argv[2], "present") == 0) return tessera::guard::look_for_a_gpu();
    if (std::strcmp(argv[2], "hold") == 0 && argc > 4)
        return tessera::guard::hold(argc - 3, argv + 3);
    const char* part = argv[argc - 1];
    if (std::strcmp(part, "take") == 0) {
        std::printf("%.0f\n", tessera::guard::take_what_there_is());
        return 0;
    }
    return tessera::guard::run_part(part, argc > 3 && std::strcmp(argv[2], "--quick") == 0);
}
