internal import CCurl
internal import ImgWire

/// Redirects that are not libcurl's to follow. Each of them begins another transfer, which has what
/// is left of the first one's limits.
extension Transfer {
  /// Where the answer that has come in leads; `nil` when it is no redirect, or one that libcurl has
  /// followed.
  ///
  /// - Throws: why it is not to be followed.
  func redirectTarget() throws(Failure) -> ParsedURL? {
    guard request.followsByItself, let status = head.status, (300..<400).contains(status),
      let location = easy.text(CURLINFO_REDIRECT_URL)
    else { return nil }
    let limit = request.content.limits(settings.limits).maxRedirects
    guard redirectCount < limit else {
      throw failure(.tooManyRedirects, "\(limit) redirects were followed, and there are more")
    }
    let next = try ParsedURL(location, from: url)
    guard let scheme = next.scheme, ["http", "https"].contains(scheme) else {
      throw failure(.unsupportedScheme, "a redirect leads to what is neither http nor https")
    }
    return next
  }

  /// The request that goes on there. What somebody wants sent is not for another origin (RFC 9110
  /// section 15.4), nor is what makes sense with it alone.
  func request(following next: ParsedURL) -> TransferRequest {
    let leavesOrigin = next.origin == nil || next.origin != url.origin
    let isUnburdened = leavesOrigin && !request.options.headers.isEmpty
    var following = continuation(
      from: isUnburdened ? request.start.withoutConditions : request.start)
    if isUnburdened { following.options.headers = .none }
    following.past.redirectCount = redirectCount + 1
    return following
  }

  /// The same request once more.
  func continuation(from start: TransferStart) -> TransferRequest {
    var next = request
    next.start = start
    next.past.headByteCount = headByteCount
    next.past.bodyByteCount = earlierByteCount + bytesReceived - start.earlierByteCount
    return next
  }
}

extension TransferRequest {
  /// Whether each redirect is looked at before it is followed: because robots.txt has to allow it,
  /// or because libcurl would send own fields wherever it leads (CURLOPT_HTTPHEADER(3)).
  var followsByItself: Bool { options.respectsRobots || !options.headers.isEmpty }
}

extension TransferStart {
  /// With nothing to ask for but the whole body.
  fileprivate var withoutConditions: TransferStart {
    switch self {
    case .zero: .zero()
    case .beginning, .anew: .anew
    }
  }
}
