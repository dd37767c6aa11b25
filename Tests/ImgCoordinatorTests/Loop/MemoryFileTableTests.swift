import ImgSystem
import Testing

@testable import ImgCoordinator

@Suite struct MemoryFileTableTests {
  @Test func `a file is there under its identifier until it is released`() throws {
    let table = MemoryFileTable()
    let first = table.add(try MemoryFile(containing: [1]).file)
    let second = table.add(try MemoryFile(containing: [1, 2]).file)
    #expect(first != second)
    #expect(table.count == 2)
    #expect(try MemoryFile(table[second]).contents(byteCount: 2) == [1, 2])
    table.release(first)
    #expect(table.count == 1)
    #expect(table.add(try MemoryFile(containing: [3]).file) != first)
  }

  @Test func `a second release is a bug of the caller`() async {
    await #expect(processExitsWith: .failure) {
      let table = MemoryFileTable()
      let file = table.add(try MemoryFile(containing: [1]).file)
      table.release(file)
      table.release(file)
    }
  }
}
