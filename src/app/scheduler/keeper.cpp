#include "app/scheduler/keeper.hpp"

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
        queue_.push_back({std::move(change), std::move(published)});
    }
    wake_.notify_one();
    if (posted_) posted_();
}

std::shared_ptr<const ClusterView> Keeper::view() const {
    const std::scoped_lock lock(view_mutex_);
    return view_;
}

void Keeper::run() {
    while (true) {
        std::vector<Entry> batch;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
            if (queue_.empty()) return;
            batch.swap(queue_);
        }
        apply(batch);
    }
}

void Keeper::apply() {
    std::vector<Entry> batch;
    {
        const std::scoped_lock lock(mutex_);
        batch.swap(queue_);
    }
    apply(batch);
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
}

}  // namespace tessera
