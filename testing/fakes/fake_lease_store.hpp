// A Lease in memory, with the API server's rule that a write names the version that it replaces.
// Any thread may call. lose_answer() applies to the next write only.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "ports/kube/lease_store.hpp"

namespace tessera {

class FakeLeaseStore final : public LeaseStore {
  public:
    void set_down(bool down) {
        const std::scoped_lock lock(mutex_);
        down_ = down;
    }
    // The next write takes effect, but its response is lost.
    void lose_answer() {
        const std::scoped_lock lock(mutex_);
        lose_ = true;
    }
    // Replaces the Lease, as `kubectl edit lease` does.
    void edit(Lease lease) {
        const std::scoped_lock lock(mutex_);
        store(std::move(lease));
    }
    // Deletes the Lease, as `kubectl delete lease` does.
    void remove() {
        const std::scoped_lock lock(mutex_);
        lease_.reset();
    }
    // Called in each write after it has taken effect, before the response. Set it before the first
    // write.
    void on_written(std::function<void()> hook) { on_written_ = std::move(hook); }
    [[nodiscard]] Lease now() const {
        const std::scoped_lock lock(mutex_);
        return lease_.value_or(Lease{});
    }

    Result<std::optional<Lease>> read() override {
        const std::scoped_lock lock(mutex_);
        if (down_) return fail(Code::unavailable, "down");
        return lease_;
    }
    Result<Lease> write(const Lease& lease) override {
        const std::scoped_lock lock(mutex_);
        if (down_) return fail(Code::unavailable, "down");
        if (lease.version != (lease_ ? lease_->version : ""))
            return fail(Code::conflict, "changed");
        store(lease);
        if (on_written_) on_written_();
        if (std::exchange(lose_, false)) return fail(Code::unavailable, "cut");
        return *lease_;
    }

  private:
    void store(Lease lease) {
        lease.version = std::to_string(++version_);
        lease_ = std::move(lease);
    }

    mutable std::mutex mutex_;
    std::optional<Lease> lease_;
    int version_ = 0;
    bool down_ = false;
    bool lose_ = false;
    std::function<void()> on_written_;
};

}  // namespace tessera
