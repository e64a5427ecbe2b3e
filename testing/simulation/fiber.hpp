// A function with a stack of its own that can stop in the middle and go on later, in the same
// thread. The synchronous product code runs in these, one at a time, so that a run has no other
// order than the one that its seed chose.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace tessera::simulation {

class Fiber {
  public:
    // `body` starts at the first resume() and lets no exception out.
    explicit Fiber(std::function<void()> body);
    // Ended, or never started: a stack that is in use is never thrown away.
    ~Fiber();
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // Runs the body until it suspends or ends. Not from within a fiber.
    void resume();
    // Back to whoever called resume(). Only from within a fiber.
    static void suspend();
    // The fiber that runs in this thread; null outside of all.
    static Fiber* current();

    [[nodiscard]] bool done() const { return done_; }

  private:
    static void enter();
    void leave(bool for_good);

    std::function<void()> body_;
    bool started_ = false;
    bool done_ = false;
    void* stack_;
    ucontext_t own_{};
    ucontext_t caller_{};
    // What the sanitizers want to know of a change of stacks; null without them.
    void* own_shadow_ = nullptr;
    void* caller_shadow_ = nullptr;
    const void* caller_stack_ = nullptr;
    std::size_t caller_size_ = 0;
};

}  // namespace tessera::simulation
