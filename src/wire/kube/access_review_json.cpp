#include "wire/kube/access_review_json.hpp"

#include <algorithm>

namespace tessera {
namespace {

std::vector<std::string> texts(JsonValue list) {
    std::vector<std::string> out;
    for (const JsonValue item : list.elements()) {
        if (const auto text = item.text()) out.emplace_back(*text);
    }
    return out;
}

void write_texts(JsonWriter& w, std::string_view key, const std::vector<std::string>& texts) {
    w.array(key, [&] {
        for (const std::string& text : texts)
            w.item(text);
    });
}

std::optional<ReviewedUser> read_user(JsonValue user) {
    ReviewedUser out{.name = user["username"].text_or(""),
                     .uid = user["uid"].text_or(""),
                     .groups = texts(user["groups"]),
                     .extra = {}};
    if (out.name.empty()) return std::nullopt;
    for (const auto& [key, values] : user["extra"].members())
        out.extra[std::string(key)] = texts(values);
    return out;
}

}  // namespace

std::string write_token_review(std::string_view token, std::string_view audience) {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "authentication.k8s.io/v1");
        w.member("kind", "TokenReview");
        w.object("spec", [&] {
            w.member("token", token);
            if (!audience.empty()) w.array("audiences", [&] { w.item(audience); });
        });
    });
    return w.take();
}

std::optional<ReviewedUser> read_token_review(JsonValue answer, std::string_view audience) {
    const JsonValue status = answer["status"];
    if (!status["authenticated"].is_true()) return std::nullopt;
    if (!audience.empty() && !std::ranges::count(texts(status["audiences"]), audience))
        return std::nullopt;
    return read_user(status["user"]);
}

std::string write_self_review() {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "authentication.k8s.io/v1");
        w.member("kind", "SelfSubjectReview");
    });
    return w.take();
}

std::optional<ReviewedUser> read_self_review(JsonValue answer) {
    return read_user(answer["status"]["userInfo"]);
}

std::string write_admin_review() {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "authorization.k8s.io/v1");
        w.member("kind", "SelfSubjectAccessReview");
        w.object("spec", [&] {
            w.object("resourceAttributes", [&] {
                for (const char* each : {"verb", "group", "resource"})
                    w.member(each, "*");
            });
        });
    });
    return w.take();
}

std::string write_access_review(const ReviewedUser& user, const PathRequest& request) {
    JsonWriter w;
    w.object([&] {
        w.member("apiVersion", "authorization.k8s.io/v1");
        w.member("kind", "SubjectAccessReview");
        w.object("spec", [&] {
            w.object("nonResourceAttributes", [&] {
                w.member("path", request.path);
                w.member("verb", request.verb);
            });
            w.member("user", user.name);
            w.member("uid", user.uid);
            write_texts(w, "groups", user.groups);
            w.object("extra", [&] {
                for (const auto& [key, values] : user.extra)
                    write_texts(w, key, values);
            });
        });
    });
    return w.take();
}

bool read_access_review(JsonValue answer) {
    const JsonValue status = answer["status"];
    return status["allowed"].is_true() && !status["denied"].is_true();
}

}  // namespace tessera
