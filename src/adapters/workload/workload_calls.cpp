#include "adapters/workload/workload_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "adapters/kube/kube_call.hpp"
#include "wire/kube/kube_objects.hpp"
#include "wire/text/json.hpp"
#include "wire/workload/object_json.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kDeadline{10'000};

Result<std::string> post(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                         std::string body) {
    return kube_post(http, path_of(kind, ns), std::move(body), kDeadline);
}

// What an object of a name that is taken belongs to.
enum class Holder {
    anchor,
    gone,  // to an earlier anchor of the same name, or to nothing any more
    other,
};

Result<Holder> holder_of(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                         const std::string& name, const Anchor& anchor) {
    TRY(const auto object, read_object(http, kind, ns, name));
    if (!object) return Holder::gone;
    const JsonValue metadata = object->root()["metadata"];
    if (workload::is_owned_by(object->root(), anchor.uid)) return Holder::anchor;
    if (metadata["deletionTimestamp"].present()) return Holder::gone;
    const bool of_earlier =
        std::ranges::any_of(metadata["ownerReferences"].elements(),
                            [&](JsonValue owner) { return owner["name"].text() == anchor.name; });
    return of_earlier ? Holder::gone : Holder::other;
}

// Whether the API server is about to delete the object of this name: it is being deleted, or an
// object of the same kind that is gone owned it.
Result<bool> is_about_to_go(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                            const std::string& name) {
    TRY(const auto object, read_object(http, kind, ns, name));
    if (!object) return true;
    const JsonValue metadata = object->root()["metadata"];
    if (metadata["deletionTimestamp"].present()) return true;
    const auto owners = metadata["ownerReferences"].elements();
    if (owners.empty()) return false;
    const auto owner = read_object(http, kind, ns, owners.front()["name"].text_or(""));
    if (!owner) return false;
    if (!*owner) return true;
    return (*owner)->root()["metadata"]["uid"].text_or("") != owners.front()["uid"].text_or("");
}

}  // namespace

std::string path_of(const ObjectKind& kind, const std::string& ns) {
    if (ns.empty()) return fmt::format("{}/{}", kind.api, kind.resource);
    return fmt::format("{}/namespaces/{}/{}", kind.api, ns, kind.resource);
}

Result<std::optional<JsonDocument>> read_object(HttpClient& http, const ObjectKind& kind,
                                                const std::string& ns, const std::string& name) {
    const std::string path = path_of(kind, ns) + "/" + name;
    const auto body = kube_call(http, {.method = "GET", .path = path}, kDeadline);
    if (!body && body.error().code == Code::not_found) return std::optional<JsonDocument>();
    if (!body) return fail(with_right(body.error(), "get", kind, ns));
    TRY(auto document, JsonDocument::parse(*body));
    return std::optional(std::move(document));
}

Error held_by_another(const ObjectKind& kind, const std::string& ns, const std::string& name) {
    return {Code::conflict,
            fmt::format("{} {} exists already in namespace {}, and does not belong to this job; "
                        "delete it, or choose another --name",
                        kind.resource, name, ns)};
}

Result<> each_labelled(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                       std::string_view label, const std::string& value, const ReadItem& read) {
    // A label's key and value are legal in a query, but for the "/".
    std::string key(label);
    if (const std::size_t slash = key.find('/'); slash != std::string::npos)
        key.replace(slash, 1, "%2F");
    const std::string path = with_query(
        path_of(kind, ns), "labelSelector=" + key + (value.empty() ? "" : "%3D" + value));
    return each_item(http, path, fmt::format("list {}", kind.right).c_str(), read);
}

Error with_right(Error error, std::string_view verb, const ObjectKind& kind,
                 const std::string& ns) {
    // A quota or a webhook answers 403, too.
    const bool is_of_rbac = error.text.find(" cannot ") != std::string::npos;
    if (error.code == Code::permission_denied && is_of_rbac) {
        error.text +=
            fmt::format("; you need the right to {} {} in namespace {}", verb, kind.right, ns);
    }
    return error;
}

Result<> json_patch_object(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                           const std::string& name, std::string patch, std::string_view what) {
    const auto done = kube_call(http,
                                {.method = "PATCH",
                                 .path = path_of(kind, ns) + "/" + name,
                                 .body = std::move(patch),
                                 .content_type = "application/json-patch+json"},
                                kDeadline);
    if (done) return {};
    // The text of the API server if a test of the patch fails.
    if (done.error().text.find("due to an error in our request") != std::string::npos) {
        return fail(
            Code::conflict,
            fmt::format("{} was changed by another command at the same time; try again", what));
    }
    return fail(with_right(done.error(), "patch", kind, ns));
}

Result<std::string> create_object(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                                  std::string body) {
    const auto created = post(http, kind, ns, std::move(body));
    if (!created) return fail(with_right(created.error(), "create", kind, ns));
    TRY(const auto document, JsonDocument::parse(*created));
    return document.root()["metadata"]["uid"].text_or("");
}

Result<std::string> create_anchor(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                                  const std::string& name, const std::string& body) {
    const auto deadline = std::chrono::steady_clock::now() + kGone;
    while (true) {
        auto made = create_object(http, kind, ns, body);
        if (made || made.error().code != Code::conflict) return made;
        TRY(const bool goes, is_about_to_go(http, kind, ns, name));
        if (!goes || std::chrono::steady_clock::now() > deadline) return made;
        std::this_thread::sleep_for(kGonePoll);
    }
}

Result<bool> create_owned(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                          const std::string& name, const std::string& body, const Anchor& anchor) {
    const auto deadline = std::chrono::steady_clock::now() + kGone;
    while (true) {
        const auto created = post(http, kind, ns, body);
        if (created) return true;
        if (created.error().code != Code::conflict)
            return fail(with_right(created.error(), "create", kind, ns));
        TRY(const Holder holder, holder_of(http, kind, ns, name, anchor));
        if (holder == Holder::anchor) return false;
        if (holder == Holder::other || std::chrono::steady_clock::now() > deadline) {
            return fail(held_by_another(kind, ns, name));
        }
        std::this_thread::sleep_for(kGonePoll);
    }
}

Result<> remove_owned(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                      const std::string& name, const std::string& owner) {
    TRY(const auto object, read_object(http, kind, ns, name));
    if (!object || !workload::is_owned_by(object->root(), owner)) return {};
    auto done = delete_object(http, kind, ns, name, object->root()["metadata"]["uid"].text_or(""));
    if (done || done.error().code == Code::not_found) return {};
    return done;
}

Result<std::vector<NodeInventory>> read_nodes(HttpClient& http) {
    std::vector<NodeInventory> out;
    TRY_VOID(each_item(http, "/api/v1/nodes", "list nodes",
                       [&](JsonValue json) { out.push_back(read_node(json)); }));
    return out;
}

Result<> delete_object(HttpClient& http, const ObjectKind& kind, const std::string& ns,
                       const std::string& name, const std::string& uid) {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "v1");
        w.member("kind", "DeleteOptions");
        w.member("propagationPolicy", "Background");
        w.object("preconditions", [&] { w.member("uid", uid); });
    });
    const auto done = kube_call(http,
                                {.method = "DELETE",
                                 .path = path_of(kind, ns) + "/" + name,
                                 .body = w.take(),
                                 .content_type = "application/json"},
                                kDeadline);
    if (!done) return fail(with_right(done.error(), "delete", kind, ns));
    return {};
}

}  // namespace tessera
