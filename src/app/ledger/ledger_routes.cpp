#include "app/ledger/ledger_routes.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "wire/tessera/kept_budgets_json.hpp"
#include "wire/tessera/usage_records_json.hpp"
#include "wire/tessera/usage_sums_json.hpp"
#include "wire/text/json.hpp"

namespace tessera {
namespace {

constexpr int kAnswerVersion = 1;
constexpr int kRetryAfterS = 30;
// An agent removes records that get this status, and no others. Other servers and proxies answer
// 400 for many reasons.
constexpr int kUnprocessable = 422;
// Clocks of nodes differ.
constexpr std::int64_t kMostAheadSeconds = 300;

RouteAnswer refusal(const Error& error, int status) {
    return plain_answer(status, error.text + "\n");
}

RouteAnswer store_error(const Error& error) {
    if (error.code == Code::corrupt) return refusal(error, http_status(error.code));
    RouteAnswer out = refusal(error, http_status(Code::unavailable));
    out.retry_after_s = kRetryAfterS;
    return out;
}

const LedgerRouteRow* find_route(std::string_view method, std::string_view path) {
    const auto* const row = std::ranges::find_if(kLedgerRoutes, [&](const LedgerRouteRow& each) {
        return each.method == method && each.path == path;
    });
    return row == kLedgerRoutes.end() ? nullptr : row;
}

// "GET, POST"; empty if no route has the path.
std::string methods_of(std::string_view path) {
    std::string out;
    for (const LedgerRouteRow& row : kLedgerRoutes) {
        if (row.path == path) out += (out.empty() ? "" : ", ") + std::string(row.method);
    }
    return out;
}

std::string write_added(const AddedRecords& records) {
    JsonWriter w;
    w.object([&] {
        w.member("version", kAnswerVersion);
        w.member("added", records.added);
        w.member("copies", records.copies);
    });
    return w.take() + "\n";
}

}  // namespace

std::optional<RouteAnswer> LedgerRoutes::refuse(const RequestHead& head) {
    const LedgerRouteRow* const row = find_route(head.method, head.path);
    if (row == nullptr) {
        std::string methods = methods_of(head.path);
        if (methods.empty()) return plain_answer(404, "404 page not found\n");
        RouteAnswer out = plain_answer(405, "Method Not Allowed\n");
        out.allow = std::move(methods);
        return out;
    }
    if (row->need == LedgerNeed::nothing) return std::nullopt;
    const AccessVerb verb = row->method == "POST" ? AccessVerb::post : AccessVerb::get;
    return parts_.tokens.refuse(head.token, verb, row->path);
}

RouteAnswer LedgerRoutes::answer(const LedgerRequest& request) {
    const LedgerRouteRow* const row = find_route(request.method, request.path);
    if (row == nullptr) return plain_answer(404, "404 page not found\n");
    switch (row->route) {
        case LedgerRoute::records:
            return add(request.body);
        case LedgerRoute::usage:
            return usage(request.query);
        case LedgerRoute::budgets:
            return budgets();
        case LedgerRoute::keep_budgets:
            return keep_budgets(request.body);
        case LedgerRoute::metrics:
            return {.body = parts_.metrics.expose(parts_.upkeep.not_ready().empty()),
                    .content_type = "text/plain; version=0.0.4; charset=utf-8"};
        case LedgerRoute::healthz:
            return plain_answer(200, "ok\n");
        case LedgerRoute::readyz: {
            const std::string reason = parts_.upkeep.not_ready();
            return reason.empty() ? plain_answer(200, "ok\n") : plain_answer(503, reason + "\n");
        }
    }
    return plain_answer(404, "404 page not found\n");
}

RouteAnswer LedgerRoutes::refuse_records(const Error& error) {
    parts_.metrics.count_refused(error.code == Code::unsupported ? LedgerRefusal::newer_version
                                                                 : LedgerRefusal::invalid);
    // A thousand agents that are newer than the ledger say the same every minute.
    bool is_new = false;
    {
        const MutexLock lock(mutex_);
        is_new = std::exchange(refused_, error.text) != error.text;
    }
    if (is_new) log_event(Event::ledger_records_refused, {{"reason", error.text}});
    const bool is_final = error.code == Code::invalid_argument;
    return refusal(error, is_final ? kUnprocessable : http_status(error.code));
}

std::optional<RouteAnswer> LedgerRoutes::refuse_now() {
    const std::string reason = parts_.upkeep.not_ready();
    if (reason.empty()) return std::nullopt;
    return store_error({Code::unavailable, reason});
}

RouteAnswer LedgerRoutes::add(std::string_view body) {
    if (auto refused = refuse_now()) return *std::move(refused);
    const auto records = read_usage_records(body);
    if (!records && records.error().code == Code::unavailable) return store_error(records.error());
    if (!records) return refuse_records(records.error());
    auto added = parts_.store.add(*records);
    // Not a fault of the store.
    if (!added && added.error().code == Code::invalid_argument)
        return refuse_records(added.error());
    added = parts_.faults.note(StoreCall::add, std::move(added));
    if (!added) return store_error(added.error());
    if (!records->empty()) {
        const auto newest = std::ranges::max_element(
            *records, {}, [](const UsageRecord& record) { return record.time.to_s; });
        parts_.metrics.count_added(*added, newest->time.to_s);
    }
    return {.body = write_added(*added)};
}

RouteAnswer LedgerRoutes::usage(std::string_view query) {
    if (auto refused = refuse_now()) return *std::move(refused);
    const auto asked = read_usage_query(query);
    if (!asked) return refusal(asked.error(), http_status(asked.error().code));
    UsageSums sums{.window = asked->window};
    if (asked->ns.empty()) {
        auto all =
            parts_.faults.note(StoreCall::usage, parts_.store.usage_by_namespace(asked->window));
        if (!all) return store_error(all.error());
        sums.by_namespace = *std::move(all);
    } else {
        auto one =
            parts_.faults.note(StoreCall::usage, parts_.store.usage(asked->ns, asked->window));
        if (!one) return store_error(one.error());
        if (!one->empty()) sums.by_namespace.emplace(asked->ns, *std::move(one));
    }
    return {.body = write_usage_sums(sums)};
}

RouteAnswer LedgerRoutes::budgets() {
    if (auto refused = refuse_now()) return *std::move(refused);
    const auto kept = parts_.faults.note(StoreCall::budgets, parts_.store.budgets());
    if (!kept) return store_error(kept.error());
    return {.body = write_kept_budgets(*kept)};
}

RouteAnswer LedgerRoutes::keep_budgets(std::string_view body) {
    if (auto refused = refuse_now()) return *std::move(refused);
    const auto budgets = read_kept_budgets(body);
    if (!budgets) return refusal(budgets.error(), http_status(budgets.error().code));
    // It would count until that time comes, whatever the next evaluations say.
    const std::int64_t now_s = parts_.clock.unix_ns() / kNanosPerSecond;
    for (const auto& [ns, budget] : *budgets) {
        if (budget.state.last_seen_s <= now_s + kMostAheadSeconds) continue;
        return plain_answer(kUnprocessable,
                            "the budget of " + ns +
                                " was evaluated in the future; set the clocks of the controllers' "
                                "nodes and of the ledger's node\n");
    }
    const auto kept =
        parts_.faults.note(StoreCall::keep_budgets, parts_.store.keep_budgets(*budgets));
    if (!kept) return store_error(kept.error());
    return {.body = "{}\n"};
}

}  // namespace tessera
