// Lists objects of the API server and then watches them, as informers do.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/http/http.hpp"
#include "adapters/kube/kube_call.hpp"
#include "adapters/kube/kube_pages.hpp"
#include "adapters/os/pause.hpp"
#include "ports/kube/kube_api.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/text/json.hpp"

namespace tessera {

// A kind of objects has `Changes`, which is like PodChanges (kube_api.hpp), `read(json)`, which
// returns an object of Changes::upserted, and `key(object)`, an entry of Changes::deleted.

// The server ends a watch after this time. Bookmarks arrive each minute, so silence means that the
// connection is dead.
inline constexpr std::chrono::seconds kWatchTimeout{290};
inline constexpr std::chrono::seconds kWatchIdle{90};
inline constexpr std::chrono::milliseconds kShortestWatchPause{100};
inline constexpr std::chrono::milliseconds kLongestWatchPause{10'000};

// Splits the stream of a watch into events and collects them for the sink.
template <class Kind>
class EventReader {
  public:
    EventReader(const Kind& kind, std::string& resource_version)
        : kind_(kind), resource_version_(resource_version) {}

    // Processes one piece of the stream. An error ends the watch.
    Result<> append(std::string_view data, typename Kind::Changes& changes) {
        rest_ += data;
        std::size_t start = 0;
        for (std::size_t end = 0; (end = rest_.find('\n', start)) != std::string::npos;
             start = end + 1) {
            TRY_VOID(line(std::string_view(rest_).substr(start, end - start), changes));
        }
        rest_.erase(0, start);
        return {};
    }

    // The number of complete events so far, bookmarks included.
    [[nodiscard]] int events() const { return events_; }

  private:
    Result<> line(std::string_view text, typename Kind::Changes& changes) {
        if (text.empty()) return {};
        ++events_;
        TRY(const auto document, JsonDocument::parse(text));
        TRY(const auto event, read_watch_event(document));
        switch (event.kind) {
            case WatchEvent::Kind::added:
            case WatchEvent::Kind::modified:
                changes.upserted.push_back(kind_.read(event.object));
                break;
            case WatchEvent::Kind::deleted: {
                // One batch may have "modified" and then "deleted" for the same object: the last
                // one counts.
                const auto key = Kind::key(kind_.read(event.object));
                std::erase_if(changes.upserted, [&](const auto& o) { return Kind::key(o) == key; });
                changes.deleted.push_back(key);
                break;
            }
            case WatchEvent::Kind::bookmark:
                break;
            case WatchEvent::Kind::error:
                return fail(event.error);
        }
        if (!event.resource_version.empty()) resource_version_ = event.resource_version;
        return {};
    }

    const Kind& kind_;
    int events_ = 0;
    std::string rest_;
    std::string& resource_version_;
};

// Watches from `resource_version` on until the connection ends, and updates it.
template <class Kind, class Sink>
Result<> watch_objects(const Kind& kind, HttpClient& http, const std::string& path,
                       std::string& resource_version, const Sink& sink,
                       const std::stop_token& stop) {
    EventReader<Kind> reader(kind, resource_version);
    Result<> outcome;
    const auto on_data = [&](std::string_view data) {
        typename Kind::Changes changes;
        const int before = reader.events();
        outcome = reader.append(data, changes);
        if (reader.events() > before) sink(std::move(changes));
        return outcome.has_value();
    };
    const std::string query =
        fmt::format("watch=1&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                    kWatchTimeout.count(), resource_version);
    TRY(const HttpResponse end, http.stream(with_query(path, query), on_data, kWatchIdle, stop));
    if (end.status != 200 && end.status != 0) return fail(kube_error(end, path));
    return outcome;
}

// Lists and watches `path` without end. `list` fills changes (with `listed`) and returns the
// position.
template <class Kind, class List, class Sink>
void follow_objects(const Kind& kind, HttpClient& http, const std::string& path, const List& list,
                    const Sink& sink, const KubeApi::ErrorSink& on_error,
                    const std::stop_token& stop) {
    std::chrono::milliseconds pause = kShortestWatchPause;
    std::string resource_version;
    while (!stop.stop_requested()) {
        Result<> outcome;
        if (resource_version.empty()) {
            typename Kind::Changes changes;
            auto listed = list(changes);
            if (listed) {
                resource_version = *listed;
                sink(std::move(changes));
            } else {
                outcome = fail(listed.error());
            }
        }
        if (outcome) outcome = watch_objects(kind, http, path, resource_version, sink, stop);
        if (outcome) {
            // The server ends a watch every few minutes. If it does so at once, this pause prevents
            // a tight loop.
            pause = kShortestWatchPause;
            pause_for(pause, stop);
            continue;
        }
        if (stop.stop_requested()) return;
        on_error(outcome.error());
        if (outcome.error().code == Code::expired) resource_version.clear();
        // Adds up to half, so that a thousand agents do not reconnect at the same moment.
        thread_local std::minstd_rand random(std::random_device{}());
        pause_for(pause + pause * static_cast<int>(random() % 50) / 100, stop);
        pause = std::min(pause * 2, kLongestWatchPause);
    }
}

// Fetches the pages of a list until `stop`, which outlives it, as `http` does.
inline FetchPage page_fetcher(HttpClient& http, const std::stop_token& stop) {
    return [&http, &stop](const std::string& page) -> Result<JsonDocument> {
        TRY(const std::string body,
            kube_call(http, {.method = "GET", .path = page}, kPageDeadline, stop));
        return JsonDocument::parse(body);
    };
}

// As follow_objects(), with every object of the list.
template <class Kind>
void follow_all(const Kind& kind, HttpClient& http, const std::string& path,
                const std::function<void(typename Kind::Changes)>& sink,
                const KubeApi::ErrorSink& on_error, const std::stop_token& stop) {
    const auto list = [&](typename Kind::Changes& changes) {
        changes.listed.emplace();
        return each_item(page_fetcher(http, stop), path, [&](JsonValue json) {
            changes.upserted.push_back(kind.read(json));
            changes.listed->insert(Kind::key(changes.upserted.back()));
        });
    };
    follow_objects(kind, http, path, list, sink, on_error, stop);
}

}  // namespace tessera
