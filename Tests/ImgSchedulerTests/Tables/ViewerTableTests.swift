import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

@Suite struct ViewerTableTests {
  private let now = ContinuousClock.now
  private let item = WorkID(rawValue: 1)
  private var viewers = ViewerTable()

  private func viewer(_ number: UInt64) -> ViewerID { ViewerID(rawValue: number) }

  @Test mutating func `a viewer is found by its name until it leaves`() {
    viewers.wait(viewer(1), name: "a", for: item, reportAt: nil)
    viewers.wait(viewer(2), name: nil, for: item, reportAt: nil)
    #expect(viewers.viewer(named: "a") == viewer(1))
    #expect(viewers.ids == [viewer(1), viewer(2)])
    #expect(viewers.remove(viewer(1)) != nil)
    #expect(viewers.viewer(named: "a") == nil)
    #expect(viewers.remove(viewer(1)) == nil)
    #expect(viewers.count == 1)
  }

  @Test mutating func `an earlier viewer that leaves does not take a later one's name along`() {
    viewers.wait(viewer(1), name: "a", for: item, reportAt: nil)
    viewers.wait(viewer(2), name: "a", for: item, reportAt: nil)
    viewers.remove(viewer(1))
    #expect(viewers.viewer(named: "a") == viewer(2))
    #expect(viewers.nameCount == 1)
  }

  @Test mutating func `a viewer with a delay waits for no item until that is over`() throws {
    let url = try ImageURL(line: url(1))
    var request = ViewerRequest(url: url.text, options: RequestOptions(variant: .standard))
    request.name = "a"
    viewers.delay(viewer(1), request, for: url)
    guard case .delayed = viewers[viewer(1)] else {
      Issue.record("it is not delayed")
      return
    }
    viewers.wait(viewer(1), name: "a", for: item, reportAt: now)
    guard case .waiting(name: "a", item) = viewers[viewer(1)] else {
      Issue.record("it does not wait")
      return
    }
    #expect(viewers.reportDeadline == now)
  }

  @Test mutating func `a wait is reported when it is due, and again only when it is news`() {
    viewers.wait(viewer(1), name: nil, for: item, reportAt: now)
    #expect(viewers.takeDueReport(at: now - .seconds(1)) == nil)
    #expect(viewers.takeDueReport(at: now)?.viewer == viewer(1))
    #expect(viewers.takeDueReport(at: now) == nil, "the next one is due later")
    #expect(viewers.report(Wait(.lookingUp), to: viewer(1)) == true)
    #expect(viewers.report(Wait(.lookingUp), to: viewer(1)) == false)
    #expect(viewers.report(Wait(.workersBusy), to: viewer(1)) == true)
    viewers.remove(viewer(1))
    #expect(!viewers.isAnyReportPending)
  }

  @Test mutating func `only so many viewers are told what they wait for`() {
    for number in 1...ViewerTable.reportMaximum + 1 {
      viewers.wait(viewer(UInt64(number)), name: nil, for: item, reportAt: now)
    }
    var reportCount = 0
    while viewers.takeDueReport(at: now) != nil { reportCount += 1 }
    #expect(reportCount == ViewerTable.reportMaximum)
  }
}
