import CAllocation
import Glibc
import ImgModel
import ImgSystem
import ImgTransport
import Testing

private let limit = 1 << 30

/// What a decoder's memory says of allocations that were refused. The functions of the C library are those
/// of the decoder in this program, too.
@Suite(.timeLimit(.minutes(20))) struct RefusedAllocationTests {
  @Test func `each way to allocate beyond the limit is recorded`() async {
    await #expect(processExitsWith: .success) {
      let memory = try ThumbnailMemory(maximumByteCount: 1)
      memory.recordRefusedAllocations(by: img_record_refused_allocations)
      try ThisProcess.limitPrivateMemory(byteCount: Int64(limit))
      var aligned: UnsafeMutableRawPointer?
      let attempts: [() -> Bool] = [
        { unsafe malloc(limit) == nil },
        { unsafe calloc(2, limit / 2) == nil },
        { unsafe realloc(nil, limit) == nil },
        { unsafe aligned_alloc(64, limit) == nil },
        { unsafe posix_memalign(&aligned, 64, limit) == ENOMEM },
        { !Self.startsThread(stackByteCount: limit) },
      ]
      for attempt in attempts {
        memory.beginPicture()
        precondition(!memory.hasRefusedAllocation(within: Limits()))
        precondition(attempt())
        precondition(memory.hasRefusedAllocation(within: Limits()))
      }
    }
  }

  @Test func `what is granted, freed or more than any picture needs does not count`() async {
    await #expect(processExitsWith: .success) {
      let memory = try ThumbnailMemory(maximumByteCount: 1)
      memory.recordRefusedAllocations(by: img_record_refused_allocations)
      try ThisProcess.limitPrivateMemory(byteCount: Int64(limit))
      let granted = unsafe realloc(malloc(100), 1 << 20)
      precondition(unsafe granted != nil)
      precondition(unsafe realloc(granted, 0) == nil)
      precondition(unsafe malloc(Int.max) == nil)
      // As long as a chunk of a PNG may claim to be.
      precondition(unsafe malloc((1 << 31) - 1) == nil)
      precondition(unsafe calloc(Int.max, 2) == nil)
      var aligned: UnsafeMutableRawPointer?
      precondition(unsafe posix_memalign(&aligned, 3, 100) == EINVAL)
      precondition(unsafe posix_memalign(&aligned, 64, 100) == 0)
      precondition(Int(bitPattern: aligned) % 64 == 0)
      unsafe free(aligned)
      precondition(Self.startsThread(stackByteCount: 1 << 20))
      precondition(!memory.hasRefusedAllocation(within: Limits()))
      // It does where a picture is taken for whole without it.
      precondition(memory.hasRefusedAllocation)
    }
  }

  private static func startsThread(stackByteCount: Int) -> Bool {
    let thread = try? ServiceThread<Void>(
      name: "test", capacity: 1, stackByteCount: stackByteCount
    ) { _ in }
    thread?.join()
    return thread != nil
  }
}
