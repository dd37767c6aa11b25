import ImgModel
import ImgWire

/// The call of one load.
struct LoadCall: Sendable {
  let call: SessionCall

  /// - Parameters:
  ///   - maximumRetryAfter: see ``ImageRequest/maximumRetryAfter``.
  ///   - onUpdate: is called on the session's thread. Without it, the coordinator sends no updates.
  init(
    _ asked: ClusterRequest, maximumRetryAfter: Duration?,
    _ onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) {
    call = SessionCall(
      request: { id in
        .get(
          GetRequest(
            id: id, url: asked.url.text, options: asked.options,
            bypassesStore: asked.bypassesStore,
            wantsPreviews: onUpdate != nil && asked.isIncremental,
            wantsProgress: onUpdate != nil && !asked.isIncremental,
            maximumRetryAfter: maximumRetryAfter))
      },
      detachment: { id in .detach(PlainRequest(id: id)) },
      turn: .load(host: asked.url.host, priority: asked.options.priority),
      step: { reply in Self.step(reply, onUpdate) })
  }

  static func step(
    _ reply: SessionReply, _ onUpdate: (@Sendable (ImageUpdate) -> Void)?
  ) -> SessionCall.Step {
    switch reply.message {
    case .waiting: return .more(nil)
    case .progress(let reply):
      onUpdate?(
        .progress(
          ImageProgress(
            receivedByteCount: reply.progress.receivedByteCount,
            expectedByteCount: reply.progress.expectedByteCount)))
      return .more(nil)
    case .preview(let preview):
      let thumbnail = preview.thumbnail
      // A preview that cannot be read is as good as none: the thumbnail follows.
      if let bytes = try? reply.contents?.get() {
        onUpdate?(
          .preview(
            ImagePreview(
              number: preview.number, bytes: bytes, type: ImageType(thumbnail.format),
              width: thumbnail.width, height: thumbnail.height)))
      }
      return .more(.nextPreview(PlainRequest(id: preview.id)))
    case .got(let got): return got.outcome.isOfLeavingCoordinator ? .again : .answer
    case .hello, .refused, .submitted, .status, .jobs, .job, .results, .forgotten, .detached,
      .sweeping,
      .stopping:
      return .answer
    }
  }
}

extension Outcome {
  /// Whether the coordinator stops, so that it no longer makes the thumbnail.
  fileprivate var isOfLeavingCoordinator: Bool {
    if case .failed(let failure, _) = self {
      failure.code == .cancelled && failure.isRetryable
    } else {
      false
    }
  }
}
