// Goal: the driver decides what a null pointer means. Method: each hooked function is called with
// null for each pointer in turn, and for all of them. The answers must be those of the simulated
// driver without the guard, and the program must be alive afterwards.
#include <cstring>
#include <type_traits>
#include <utility>

#include "api/nvidia/nvml.h"
#include "gpusim/test_support/cuda_program.hpp"
#include "guard/test_support/guarded_container.hpp"

namespace tessera::guard {
namespace {

using gpusim::ChildProcess;
using gpusim::CudaProgram;
using gpusim::in_child;
using gpusim::kGiB;
using gpusim::Library;
using gpusim::Wire;

constexpr std::size_t kMostArguments = 12;
// Used as an index: no pointer is null, or every one is.
constexpr std::size_t kNone = kMostArguments;
constexpr std::size_t kAll = kMostArguments + 1;

// What pointers that are not null point to: zeros, enough for any structure of the API.
struct Scratch {
    alignas(64) char of[kMostArguments][4096];
};

struct Choice {
    std::size_t null_at;
    int number;  // the value of each argument that is a number
};

template <typename Result, typename... Arguments>
Result do_nothing(Arguments... /*unused*/) {
    return Result();
}

template <typename Result, typename... Arguments>
void point_at_function(Result (*&function)(Arguments...)) {
    function = &do_nothing<Result, Arguments...>;
}

template <typename Argument>
Argument argument(std::size_t index, const Choice& choice, Scratch& scratch) {
    if constexpr (std::is_pointer_v<Argument>) {
        if (choice.null_at == index || choice.null_at == kAll) return nullptr;
        if constexpr (std::is_function_v<std::remove_pointer_t<Argument>>) {
            Argument function = nullptr;
            point_at_function(function);
            return function;
        } else {
            return reinterpret_cast<Argument>(scratch.of[index]);
        }
    } else if constexpr (std::is_class_v<Argument>) {
        return {};
    } else if constexpr (std::is_same_v<Argument, CUdeviceptr>) {
        // Flags and handles have this type too; they get 0 or an invalid value.
        return choice.number == 0 ? 0 : reinterpret_cast<CUdeviceptr>(scratch.of[index]);
    } else {
        return static_cast<Argument>(choice.number);
    }
}

template <typename Result, typename... Arguments, std::size_t... Index>
Result call(Result (*function)(Arguments...), const Choice& choice, Scratch& scratch,
            std::index_sequence<Index...> /*unused*/) {
    return function(argument<Arguments>(Index, choice, scratch)...);
}

// Calls it in every way, and passes each answer to `answered`.
template <typename Result, typename... Arguments, typename Answered>
void call_in_every_way(Result (*function)(Arguments...), const Answered& answered) {
    static_assert(sizeof...(Arguments) <= kMostArguments);
    constexpr bool kIsPointer[] = {std::is_pointer_v<Arguments>..., false};
    static Scratch scratch;
    for (const int number : {0, 1}) {
        for (std::size_t null_at = 0; null_at <= kAll; null_at++) {
            const bool is_asked =
                null_at >= kNone || (null_at < sizeof...(Arguments) && kIsPointer[null_at]);
            if (!is_asked) continue;
            std::memset(&scratch, 0, sizeof scratch);
            const Choice choice{null_at, number};
            answered(
                call(function, choice, scratch, std::make_index_sequence<sizeof...(Arguments)>()));
        }
    }
}

// Puts the thread back into the tenant's context only, and ends any capture.
void begin_again(const CudaProgram& tenant) {
    CUgraph graph = nullptr;
    CALL(tenant.cuda, cuStreamEndCapture)(CU_STREAM_PER_THREAD, &graph);
    while (CALL(tenant.cuda, cuCtxPopCurrent_v2)(nullptr) == CUDA_SUCCESS) {
    }
    EXPECT_EQ(CALL(tenant.cuda, cuCtxPushCurrent_v2)(tenant.context), CUDA_SUCCESS);
}

// Answers are sent plus one: 0 means that the process is gone.
void answer_by(Wire& wire, const std::filesystem::path& library) {
    const CudaProgram tenant(library);
    const auto answered = [&](CUresult result) {
        wire.send(static_cast<std::uint64_t>(result) + 1);
        begin_again(tenant);
    };
#define HOOK(symbol, name, since) call_in_every_way(CALL(tenant.cuda, symbol), answered);
#include "guard/entrypoints.def"
#undef HOOK
}

void answer_by_nvml(Wire& wire, const std::filesystem::path& library) {
    const Library nvml(library);
    EXPECT_EQ(CALL(nvml, nvmlInit_v2)(), NVML_SUCCESS);
    const auto answered = [&](nvmlReturn_t result) {
        wire.send(static_cast<std::uint64_t>(result) + 1);
    };
#define NVML_HOOK(symbol) call_in_every_way(CALL(nvml, symbol), answered);
#include "guard/nvml_entrypoints.def"
#undef NVML_HOOK
}

// How often call_in_every_way() calls a function of the type.
template <typename Result, typename... Arguments>
constexpr std::size_t ways(Result (* /*unused*/)(Arguments...)) {
    return 2 * (2 + (std::size_t{0} + ... + (std::is_pointer_v<Arguments> ? 1 : 0)));
}

class GuardNullPointers : public testing::Test {
  protected:
    gpusim::SimulatedNode node_{"gpus:\n  - {model: A, memory: 8GiB}\n"};
    GuardedContainer container_{node_, {{0, 8 * kGiB, 0, kWhole / 2, kWhole}}};

    void SetUp() override { container_.grant_plenty(); }

    static void expect_same(const char* symbol, std::size_t count, Wire& bare, Wire& guarded) {
        for (std::size_t i = 0; i < count; i++) {
            const std::uint64_t expected = bare.receive();
            const std::uint64_t answer = guarded.receive();
            ASSERT_NE(expected, 0U) << symbol << " ended the process of the driver itself";
            ASSERT_NE(answer, 0U) << symbol << " ended the process that is guarded, call " << i;
            EXPECT_EQ(answer - 1, expected - 1) << symbol << ", call " << i;
        }
    }
};

TEST_F(GuardNullPointers, AreAnsweredAsTheDriverDoes) {
    ChildProcess bare([this](Wire& wire) { answer_by(wire, node_.library("libcuda.so.1")); });
    ChildProcess guarded([this](Wire& wire) { answer_by(wire, container_.facade()); });
#define HOOK(symbol, name, since)                                                   \
    expect_same(#symbol, ways(decltype(&::symbol){}), bare.wire(), guarded.wire()); \
    if (HasFatalFailure()) return;
#include "guard/entrypoints.def"
#undef HOOK
    EXPECT_EQ(bare.join(), 0);
    EXPECT_EQ(guarded.join(), 0);
}

TEST_F(GuardNullPointers, AreAnsweredAsNvmlDoes) {
    ChildProcess bare(
        [this](Wire& wire) { answer_by_nvml(wire, node_.library("libnvidia-ml.so.1")); });
    ChildProcess guarded([this](Wire& wire) { answer_by_nvml(wire, container_.nvml_facade()); });
#define NVML_HOOK(symbol)                                                           \
    expect_same(#symbol, ways(decltype(&::symbol){}), bare.wire(), guarded.wire()); \
    if (HasFatalFailure()) return;
#include "guard/nvml_entrypoints.def"
#undef NVML_HOOK
    EXPECT_EQ(bare.join(), 0);
    EXPECT_EQ(guarded.join(), 0);
}

// OptiX and Isaac Sim request only the total.
TEST_F(GuardNullPointers, LeaveTheOtherNumberOfMemoryAlone) {
    in_child([this] {
        CudaProgram tenant(container_.facade());
        EXPECT_EQ(tenant.allocate(1 * kGiB), CUDA_SUCCESS);
        const auto ask = CALL(tenant.cuda, cuMemGetInfo_v2);
        const auto ask_in_32_bits = CALL(tenant.cuda, cuMemGetInfo);
        std::size_t total = 0;
        std::size_t free = 0;
        unsigned number = 0;
        EXPECT_EQ(ask(nullptr, &total), CUDA_SUCCESS);
        EXPECT_EQ(total, 8 * kGiB);
        EXPECT_EQ(ask(&free, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(free, 7 * kGiB);
        EXPECT_EQ(ask(nullptr, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(ask_in_32_bits(nullptr, &number), CUDA_SUCCESS);
        EXPECT_EQ(ask_in_32_bits(&number, nullptr), CUDA_SUCCESS);
        EXPECT_EQ(ask_in_32_bits(nullptr, nullptr), CUDA_SUCCESS);
    });
}

}  // namespace
}  // namespace tessera::guard
