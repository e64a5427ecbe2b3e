#include "testing/simulation/fiber.hpp"

#include <sys/mman.h>

#include <utility>
#include <vector>

#include "base/check.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace tessera::simulation {
namespace {

constexpr std::size_t kStackSize = std::size_t{256} << 10;

thread_local Fiber* running = nullptr;

// Stacks are reused, because a run has thousands of fibers, but few at a time. The lowest page of
// each stack is a guard page, so that a stack overflow ends the program.
class Stacks {
  public:
    Stacks() = default;
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;
    ~Stacks() {
        for (void* stack : free_)
            ::munmap(stack, kStackSize);
    }
    void* take() {
        if (!free_.empty()) {
            void* stack = free_.back();
            free_.pop_back();
            return stack;
        }
        void* stack = ::mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        TESSERA_CHECK(stack != MAP_FAILED, "there is memory for a stack");
        TESSERA_CHECK(::mprotect(stack, 4096, PROT_NONE) == 0, "a stack has a guard page");
        return stack;
    }
    void give(void* stack) { free_.push_back(stack); }

  private:
    std::vector<void*> free_;
};

Stacks& stacks() {
    thread_local Stacks of_thread;
    return of_thread;
}

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), stack_(stacks().take()) {
#if defined(__SANITIZE_THREAD__)
    own_shadow_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
    TESSERA_CHECK(done_ || !started_, "a fiber ends before it is destroyed");
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(own_shadow_);
#endif
    stacks().give(stack_);
}

Fiber* Fiber::current() {
    return running;
}

void Fiber::enter() {
    Fiber& self = *running;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &self.caller_stack_, &self.caller_size_);
#endif
    self.body_();
    self.body_ = nullptr;
    self.done_ = true;
    self.leave(true);
}

void Fiber::resume() {
    TESSERA_CHECK(running == nullptr, "fibers do not nest");
    TESSERA_CHECK(!done_, "a fiber that ended is not resumed");
    if (!std::exchange(started_, true)) {
        ::getcontext(&own_);
        own_.uc_stack.ss_sp = stack_;
        own_.uc_stack.ss_size = kStackSize;
        own_.uc_link = nullptr;
        ::makecontext(&own_, &Fiber::enter, 0);
    }
    running = this;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&caller_shadow_, stack_, kStackSize);
#endif
#if defined(__SANITIZE_THREAD__)
    caller_shadow_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own_shadow_, 0);
#endif
    ::swapcontext(&caller_, &own_);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(caller_shadow_, nullptr, nullptr);
#endif
    running = nullptr;
}

void Fiber::leave([[maybe_unused]] bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(for_good ? nullptr : &own_shadow_, caller_stack_, caller_size_);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(caller_shadow_, 0);
#endif
    ::swapcontext(&own_, &caller_);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(own_shadow_, &caller_stack_, &caller_size_);
#endif
}

void Fiber::suspend() {
    TESSERA_CHECK(running != nullptr, "only a fiber can be suspended");
    running->leave(false);
}

}  // namespace tessera::simulation
