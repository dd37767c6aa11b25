import ImgSystem
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(20)))
struct BlockingQueueTests {
  @Test func `a full queue refuses elements until there is room`() throws {
    let queue = try BlockingQueue<Int>(capacity: 2)
    #expect(queue.push(1))
    #expect(queue.push(2))
    #expect(!queue.push(3))
    #expect(queue.count == 2)
    #expect(queue.take(upTo: 1) == [1])
    #expect(queue.push(4))
    #expect(queue.take(upTo: 8) == [2, 4])
    #expect(queue.count == 0)
  }

  @Test func `several elements are added together or not at all`() throws {
    let queue = try BlockingQueue<Int>(capacity: 3)
    #expect(queue.push(contentsOf: [1, 2]))
    #expect(!queue.push(contentsOf: [3, 4]))
    #expect(queue.push(contentsOf: []))
    #expect(queue.take(upTo: 8) == [1, 2])
    #expect(queue.push(contentsOf: [5, 6, 7]))
    #expect(queue.take(upTo: 8, until: .now + .seconds(60)) == [5, 6, 7])
    queue.close()
    #expect(!queue.push(contentsOf: [8]))
  }

  @Test func `a closed queue refuses elements and returns queued ones, then nil`() throws {
    let queue = try BlockingQueue<Int>(capacity: 8)
    #expect(queue.push(1))
    queue.close()
    #expect(!queue.push(2))
    #expect(queue.take(upTo: 8) == [1])
    #expect(queue.take(upTo: 8) == nil)
    #expect(queue.take(upTo: 8) == nil)
  }

  @Test func `elements of many threads arrive once, in the order of each thread`() async throws {
    let received = Mutex<[Int]>([])
    let consumer = try ServiceThread<Int>(name: "consumer", capacity: 4000) { queue in
      while let batch = queue.take(upTo: 7) {
        received.withLock { $0 += batch }
      }
    }
    await withTaskGroup { group in
      for producer in 0..<8 {
        group.addTask {
          for number in 0..<500 {
            #expect(consumer.queue.push(producer * 500 + number))
          }
        }
      }
    }
    consumer.join()
    let all = received.withLock { $0 }
    #expect(all.sorted() == Array(0..<4000))
    for producer in 0..<8 {
      let own = all.filter { $0 / 500 == producer }
      #expect(own == own.sorted())
    }
  }

  @Test func `take with a deadline returns earlier elements or none`() throws {
    let queue = try BlockingQueue<Int>(capacity: 2)
    #expect(queue.take(upTo: 1, until: .now) == [])
    #expect(queue.take(upTo: 1, until: .now + .milliseconds(1)) == [])
    #expect(queue.push(1))
    #expect(queue.take(upTo: 1, until: .now) == [1])
    let producer = try ServiceThread<Int>(name: "producer", capacity: 1) { _ in
      #expect(queue.push(2))
    }
    #expect(queue.take(upTo: 1, until: .now + .seconds(240)) == [2])
    producer.join()
    queue.close()
    #expect(queue.take(upTo: 1, until: .now) == nil)
    #expect(queue.take(upTo: 1, until: .now + .seconds(240)) == nil)
  }

  @Test func `an urgent element is taken first`() throws {
    let queue = try BlockingQueue<Int>(capacity: 4)
    for number in 1...2 { #expect(queue.push(number)) }
    for number in 3...4 { #expect(queue.push(number, isFirst: true)) }
    #expect(queue.take(upTo: 4) == [4, 3, 1, 2])
  }
}
