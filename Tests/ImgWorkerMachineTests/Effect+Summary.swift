import ImgModel
import ImgWire

@testable import ImgWorkerMachine

extension WorkerMachine.Effect {
  /// What is done, and to which lease or transfer.
  var summary: String {
    switch self {
    case .send(let message): message.summary
    case .sendUncached: "send uncached"
    case .deliver(let result): "deliver \(result.lease.rawValue)"
    case .lookUp(let batch): "look up \(batch.items.map(\.lease.rawValue))"
    case .findOriginal(let order): "find original \(order.lease.rawValue)"
    case .findStale(let order): "find stale \(order.lease.rawValue)"
    case .renew(let order): "renew \(order.lease.rawValue)"
    case .put(let request):
      "put \(request.order.lease.rawValue) "
        + "[\(request.records.map(\.kind.summary).joined(separator: ", "))]"
        + (request.body.map { " of body \($0.rawValue)" } ?? "")
        + (request.extendsOriginal ? " beside the original" : "")
    case .storePartial(let transfer, _): "store partial \(transfer.rawValue)"
    case .removePartial(let name): "remove partial \(name.text)"
    case .sweep(let moment): "sweep \(moment.rawValue)"
    case .unpin(let jobs): "unpin \(jobs.map(\.rawValue))"
    case .readRobots(let url): "read robots \(url.origin)"
    case .fetchRobots(let url): "fetch robots \(url.origin)"
    case .storeRobots(_, let origin): "store robots \(origin)"
    case .startTransfer(let order): "start \(order.lease.rawValue)"
    case .followRedirect(let transfer, let wait):
      "follow \(transfer.rawValue)\(wait == .zero ? "" : " after \(wait)")"
    case .cancelTransfer(let transfer): "cancel transfer \(transfer.rawValue)"
    case .releaseBody(let transfer): "release body \(transfer.rawValue)"
    case .decode(let order, let source): "decode \(order.lease.rawValue) from \(source.summary)"
    case .cancelDecode(let lease): "cancel decode \(lease.rawValue)"
    case .makePreview(let order):
      "make preview of \(order.transfer.rawValue) for \(order.lease.rawValue)"
    case .sendPreview(let preview): "send preview \(preview.lease.rawValue)"
    case .stop: "stop"
    }
  }
}

extension DecodeSource {
  fileprivate var summary: String {
    switch self {
    case .body(let transfer): "body \(transfer.rawValue)"
    case .storedOriginal: "original"
    case .url: "url"
    case .upload(let byteCount): "upload of \(byteCount)"
    }
  }
}

extension WorkerMessage {
  fileprivate var summary: String {
    switch self {
    case .lookedUp: "looked up"
    case .hostUpdates: "host updates"
    case .redirected(let list): "redirected \(list.redirections.map(\.transfer.rawValue))"
    case .transferred(let list): "transferred \(list.leases.map(\.rawValue))"
    case .released(let list): "released \(list.leases.map(\.rawValue))"
    case .unpinned(let list): "unpinned \(list.leases.map(\.rawValue))"
    case .finished(let list):
      "finished "
        + list.results.map { "\($0.lease.rawValue) \($0.outcome.summary)" }
        .joined(separator: ", ")
    case .progress(let list):
      "progress " + list.entries.map(\.summary).joined(separator: ", ")
    case .hello, .ready, .refused, .uncached, .preview, .startDecoder, .endDecoder, .store,
      .sandboxed:
      "unexpected"
    }
  }
}

extension ProgressReport.Entry {
  fileprivate var summary: String {
    let length = progress.expectedByteCount.map { " of \($0)" } ?? ""
    return "\(lease.rawValue) \(progress.receivedByteCount)\(length)"
  }
}

extension Outcome {
  fileprivate var summary: String {
    switch self {
    case .done(_, fromCache: true, _): "cached"
    case .done(_, fromCache: false, _): "done"
    case .failed(let failure, _): failure.code.rawValue
    case .cancelled: "cancelled"
    }
  }
}

extension NewRecord.Kind {
  fileprivate var summary: String {
    switch self {
    case .thumbnail(0): "thumbnail"
    case .thumbnail(let index): "thumbnail \(index)"
    case .original: "original"
    }
  }
}
