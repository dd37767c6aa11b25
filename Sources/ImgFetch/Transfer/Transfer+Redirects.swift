internal import CCurl
internal import ImgModel

/// Where a redirect leads.
struct RedirectTarget {
  let url: ImageURL
  let parsedURL: ParsedURL
}

/// Redirects. libcurl follows none: each begins another transfer, which has what is left of the
/// limits of the first, so that each hop is judged like a request of its own.
extension Transfer {
  /// Where the answer leads; `nil` when it is no redirect. The body that comes with a redirect is of
  /// no use, so it does not matter how that ended.
  ///
  /// - Throws: why it is not to be followed.
  func redirectTarget(after code: CURLcode) throws(Failure) -> RedirectTarget? {
    guard let location = head.redirectLocation, code != CURLE_OPERATION_TIMEDOUT,
      refusal == nil, !isHeadOverLimit(code)
    else { return nil }
    let limit = request.content.limits(settings.limits).maxRedirects
    guard request.past.redirectCount < limit else {
      throw failure(.tooManyRedirects, "\(limit) redirects were followed, and there are more")
    }
    let next = try ParsedURL(location, from: url)
    guard let scheme = next.scheme, ["http", "https"].contains(scheme) else {
      throw failure(.unsupportedScheme, "a redirect leads to what is neither http nor https")
    }
    guard let imageURL = next.text.flatMap({ try? ImageURL(parsing: $0) }) else {
      throw failure(.invalidURL, "a redirect leads to what is no URL, or too long a one")
    }
    return RedirectTarget(url: imageURL, parsedURL: next)
  }

  /// The request that goes on there. What somebody wants sent is not for another origin (RFC 9110
  /// section 15.4).
  func request(following target: RedirectTarget) -> TransferRequest {
    var following = continuation
    following.past.bodyByteCount += bytesReceived
    if target.parsedURL.origin == nil || target.parsedURL.origin != url.origin {
      following.options.headers = .none
    }
    following.host = target.url.host
    following.usesFreshConnection = false
    following.past.redirectCount += 1
    return following
  }

  /// The request for the whole body, after the origin would not go on from what there was.
  var requestForWhole: TransferRequest {
    var whole = continuation
    whole.start = .anew
    whole.past.bodyByteCount = earlierByteCount + bytesReceived
    whole.past.resumedByteCount += start.earlierByteCount
    return whole
  }

  /// Whether the request is to be sent once more, because what came on a connection that was used
  /// before is no answer to it. With a 408 a server closes an idle connection (RFC 9110 section
  /// 15.5.9), and a request may cross it.
  var isUnanswered: Bool {
    guard openedSockets.isEmpty, !request.usesFreshConnection else { return false }
    return isConnectionSpoilt || head.isComplete && head.status == 408
  }

  /// The same request on a connection of its own.
  var requestOnFreshConnection: TransferRequest {
    var next = continuation
    next.usesFreshConnection = true
    next.past.bodyByteCount += bytesReceived
    return next
  }

  private var continuation: TransferRequest {
    var next = request
    next.past.headByteCount = headByteCount
    next.past.timings = request.past.timings.adding(easy.timings)
    return next
  }
}
