// Goal: whoever of a container's processes takes and frees what memory at once, and whoever is
// killed meanwhile, the card never has more of it than the limit, by the driver's own count, and in
// the end all is given back. Method: processes that allocate at random by all families, some of
// which die at each round; a fixed seed for each.
#include <fcntl.h>

#include <atomic>
#include <deque>
#include <random>
#include <thread>

#include "gpusim/state/locks.hpp"
#include "guard/test_support/held_memory.hpp"

namespace tessera::guard {
namespace {

using gpusim::kGiB;
using gpusim::kMiB;
using gpusim::Peer;
using gpusim::Tenant;

constexpr std::uint64_t kContext = 100 * kMiB;
constexpr unsigned kProcesses = 8;
constexpr int kRounds = 20;
constexpr int kSteps = 400;

// A process that holds memory of every family.
class Holder {
  public:
    Holder(const std::filesystem::path& library, unsigned seed) : tenant_(library), random_(seed) {
        std::uint64_t keep = ~std::uint64_t{0};
        EXPECT_EQ(CALL(tenant_.cuda, cuDeviceGetDefaultMemPool)(&pool_, 0), CUDA_SUCCESS);
        if (seed % 2 == 0) {
            CALL(tenant_.cuda, cuMemPoolSetAttribute)
            (pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
        }
    }

    void step() {
        const auto what = random_() % 10;
        if (what < 5 && held_.size() < 12) return take();
        if (what == 9) {
            EXPECT_EQ(CALL(tenant_.cuda, cuStreamSynchronize)(nullptr), CUDA_SUCCESS);
        } else if (!held_.empty()) {
            give();
        }
    }
    void give_all() {
        while (!held_.empty())
            give();
        EXPECT_EQ(CALL(tenant_.cuda, cuCtxSynchronize)(), CUDA_SUCCESS);
        EXPECT_EQ(CALL(tenant_.cuda, cuMemPoolTrimTo)(pool_, 0), CUDA_SUCCESS);
    }
    unsigned long taken() const { return taken_; }

  private:
    enum class Family { plain, rows, managed, ordered, physical, array, module, kCount };
    struct Held {
        Family family;
        std::uint64_t handle;
    };

    void take() {
        const auto family = static_cast<Family>(random_() % static_cast<unsigned>(Family::kCount));
        std::uint64_t handle = 0;
        const CUresult result = take(family, (random_() % 64 + 1) * 2 * kMiB, handle);
        EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY) << result;
        if (result != CUDA_SUCCESS) return;
        held_.push_back({family, handle});
        taken_++;
    }

    CUresult take(Family family, std::uint64_t bytes, std::uint64_t& handle) {
        const gpusim::Library& cuda = tenant_.cuda;
        auto* const pointer = reinterpret_cast<CUdeviceptr*>(&handle);
        switch (family) {
            case Family::plain:
                return CALL(cuda, cuMemAlloc_v2)(pointer, bytes);
            case Family::rows: {
                size_t pitch = 0;
                return CALL(cuda, cuMemAllocPitch_v2)(pointer, &pitch, 1000, bytes / 1024, 4);
            }
            case Family::managed:
                return CALL(cuda, cuMemAllocManaged)(pointer, bytes, CU_MEM_ATTACH_GLOBAL);
            case Family::ordered:
                return CALL(cuda, cuMemAllocAsync)(pointer, bytes, nullptr);
            case Family::physical: {
                CUmemAllocationProp properties = {};
                properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
                properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
                return CALL(cuda, cuMemCreate)(pointer, bytes, &properties, 0);
            }
            case Family::array: {
                const CUDA_ARRAY_DESCRIPTOR wanted = {1024, bytes / 4096, CU_AD_FORMAT_FLOAT, 1};
                return CALL(cuda, cuArrayCreate_v2)(reinterpret_cast<CUarray*>(&handle), &wanted);
            }
            case Family::module: {
                const std::string text =
                    ".version 6.0\n.global .align 8 .b8 table[" + std::to_string(bytes) + "];\n";
                return CALL(cuda, cuModuleLoadData)(reinterpret_cast<CUmodule*>(&handle),
                                                    text.c_str());
            }
            case Family::kCount:
                break;
        }
        return CUDA_ERROR_UNKNOWN;
    }

    void give() {
        std::swap(held_[random_() % held_.size()], held_.back());
        const auto [family, handle] = held_.back();
        held_.pop_back();
        EXPECT_EQ(give(family, handle), CUDA_SUCCESS);
    }

    // cuMemAlloc's and pools' memory by either of the two calls.
    CUresult give(Family family, std::uint64_t handle) {
        const gpusim::Library& cuda = tenant_.cuda;
        void* const object = reinterpret_cast<void*>(handle);  // NOLINT(performance-no-int-to-ptr)
        const bool is_ordered = random_() % 3 == 0;
        switch (family) {
            case Family::plain:
            case Family::rows:
            case Family::ordered:
                return is_ordered ? CALL(cuda, cuMemFreeAsync)(handle, nullptr)
                                  : CALL(cuda, cuMemFree_v2)(handle);
            case Family::managed:
                return CALL(cuda, cuMemFree_v2)(handle);
            case Family::physical:
                return CALL(cuda, cuMemRelease)(handle);
            case Family::array:
                return CALL(cuda, cuArrayDestroy)(static_cast<CUarray>(object));
            case Family::module:
                return CALL(cuda, cuModuleUnload)(static_cast<CUmodule>(object));
            case Family::kCount:
                break;
        }
        return CUDA_ERROR_UNKNOWN;
    }

    Tenant tenant_;
    std::mt19937 random_;
    CUmemoryPool pool_ = nullptr;
    std::vector<Held> held_;
    unsigned long taken_ = 0;
};

class GuardRaces : public HeldMemory {
  protected:
    // A sum over processes, none of which may take memory meanwhile: or what one gives and another
    // takes would be seen twice.
    [[nodiscard]] std::uint64_t used_at_once() const {
        if (!gpusim::lock_byte(locks_fd_, gpusim::kDecisionLock)) return ~std::uint64_t{0};
        const std::uint64_t used = node_.used(0);
        gpusim::unlock_byte(locks_fd_, gpusim::kDecisionLock);
        return used;
    }
    std::unique_ptr<Peer> start(unsigned seed) {
        auto peer = std::make_unique<Peer>([this, seed](gpusim::Wire& wire) {
            Holder holder(container_.facade(), seed);
            wire.send();
            while (wire.receive() == 1) {
                for (int i = 0; i < kSteps; i++)
                    holder.step();
                holder.give_all();
                EXPECT_GT(holder.taken(), 0U);
                wire.send();
            }
        });
        return peer;
    }

  private:
    int locks_fd_ = open((node_.state_directory() / "locks").c_str(), O_RDWR | O_CLOEXEC);
};

TEST_F(GuardRaces, NeverOverTheLimitAndAllComesBack) {
    // Contexts as tests of other limits have them, for each process one.
    constexpr std::uint64_t kLimit = kProcesses * kContext + kGiB;
    container_.limits().cards[0].memory = granules_of(kLimit);
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> most = 0;
    std::thread watch([&] {
        while (!is_over) {
            most = std::max(most.load(), used_at_once());
            EXPECT_LE(held_bytes(), kLimit);
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    });
    unsigned seed = 0;
    std::deque<std::unique_ptr<Peer>> peers;
    const auto start_one = [&] {
        peers.push_back(start(seed++));
        EXPECT_EQ(peers.back()->wire().receive(), 1U);
    };
    while (peers.size() < kProcesses)
        start_one();
    for (int round = 0; round < kRounds; round++) {
        for (const auto& peer : peers)
            peer->wire().send(1);
        // Two are killed in the middle of their work.
        for (int killed = 0; killed < 2; killed++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            peers.front()->kill_hard();
            peers.pop_front();
        }
        for (const auto& peer : peers)
            EXPECT_EQ(peer->wire().receive(), 1U);
        container_.region().reap();
        expect_held(peers.size() * kContext);
        while (peers.size() < kProcesses)
            start_one();
    }
    for (const auto& peer : peers) {
        peer->wire().send(2);
        EXPECT_EQ(peer->join(), 0);
    }
    is_over = true;
    watch.join();
    EXPECT_LE(most.load(), kLimit) << "as the driver says";
    EXPECT_GT(most.load(), kLimit - 200 * kMiB) << "it was full";
    container_.region().reap();
    expect_held(0);
}

}  // namespace
}  // namespace tessera::guard
