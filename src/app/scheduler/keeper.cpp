#include "app/scheduler/keeper.hpp"

#include "base/check.hpp"

namespace tessera {

Keeper::Keeper() : view_(std::make_shared<ClusterView>()), thread_([this] { run(); }) {}

Keeper::Keeper(std::function<void()> posted)
    : posted_(std::move(posted)), view_(std::make_shared<ClusterView>()) {}

Keeper::~Keeper() {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock(mutex_);
        stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Keeper::post(Change change, std::function<void()> published) {
    {
        const std::scoped_lock lock(mutex_);
        if (queue_.empty()) queued_since_ = std::chrono::steady_clock::now();
        queue_.push_back({std::move(change), std::move(published)});
    }
    wake_.notify_one();
    if (posted_) posted_();
}

std::shared_ptr<const ClusterView> Keeper::view() const {
    const std::scoped_lock lock(view_mutex_);
    return view_;
}

std::optional<std::chrono::nanoseconds> Keeper::unanswered_for() {
    {
        const std::scoped_lock lock(mutex_);
        const auto since = batch_since_ ? batch_since_ : queued_since_;
        if (since) return std::chrono::steady_clock::now() - *since;
    }
    post([](ClusterState&) {});
    return std::nullopt;
}

void Keeper::run() {
    while (true) {
        std::vector<Entry> batch;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
            if (queue_.empty()) return;
            batch = take_batch();
        }
        apply(batch);
    }
}

void Keeper::apply() {
    TESSERA_CHECK(!thread_.joinable(), "the state has one owner: its thread applies the changes");
    std::vector<Entry> batch;
    {
        const std::scoped_lock lock(mutex_);
        batch = take_batch();
    }
    apply(batch);
}

// Wants the mutex.
std::vector<Keeper::Entry> Keeper::take_batch() {
    batch_since_ = std::exchange(queued_since_, std::nullopt);
    return std::exchange(queue_, {});
}

void Keeper::apply(const std::vector<Entry>& batch) {
    for (const Entry& entry : batch)
        entry.change(state_);
    auto view = state_.view();
    {
        const std::scoped_lock lock(view_mutex_);
        view_ = std::move(view);
    }
    for (const Entry& entry : batch) {
        if (entry.published) entry.published();
    }
    const std::scoped_lock lock(mutex_);
    batch_since_ = std::nullopt;
}

}  // namespace tessera
