import assert from 'node:assert/strict'
import { assertAborted, assertFails } from '../failures.ts'
import { assertSame, put, text } from './assertions.ts'
import { collect, pattern, stream } from './bytes.ts'
import { movesFiles, type StorageCheck } from './subject.ts'

const mebibyte = 1024 * 1024

export function readingChecks(check: StorageCheck): void {
  check('a range returns exactly its bytes', async (storage) => {
    for (const size of [1, 2, 100, 65_536, 2 * mebibyte + 5]) {
      const bytes = pattern(size, size)
      await storage.write('/file', stream(bytes))
      const last = size - 1
      const middle = size >> 1
      const ranges: [start: number | undefined, end: number | undefined][] = [
        [0, 0],
        [last, last],
        [middle, middle],
        [0, last],
        [middle, last],
        [0, middle],
        [middle, undefined],
        [undefined, middle],
        [Math.min(65_535, last), Math.min(65_536, last)],
      ]
      for (const [start, end] of ranges) {
        const range = { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) }
        const { entry, content } = await storage.read('/file', range)
        assert.equal(entry.size, size, 'the entry describes the whole file')
        const expected = bytes.slice(start ?? 0, (end ?? last) + 1)
        assertSame(await collect(content), expected, `bytes ${start ?? ''}-${end ?? ''} of ${size}`)
      }
    }
  })

  check('a range that is not within the file is refused', async (storage) => {
    await put(storage, '/file', '12345')
    await put(storage, '/empty', '')
    for (const range of [{ start: 5 }, { start: 0, end: 5 }, { start: 100, end: 200 }]) {
      await assertFails(storage.read('/file', range), ['RANGE_NOT_SATISFIABLE'], JSON.stringify(range))
    }
    await assertFails(storage.read('/empty', { start: 0 }), ['RANGE_NOT_SATISFIABLE'], 'a range of no bytes')
  })

  check(
    'with `reuseBuffers`, a chunk stays intact until the chunk after the next one is asked for',
    async (storage) => {
      const bytes = pattern(7 * mebibyte + 11)
      await storage.write('/file', stream(bytes))
      for (const range of [{}, { start: 1 }, { start: 65_535, end: 3 * mebibyte }]) {
        const copies: Uint8Array[] = []
        const { content } = await storage.read('/file', { ...range, reuseBuffers: true })
        const chunks = content[Symbol.asyncIterator]()
        for (let step = await chunks.next(); !step.done; ) {
          const next = await chunks.next()
          copies.push(Uint8Array.from(step.value))
          step = next
        }
        const { start = 0, end = bytes.length - 1 } = range as { start?: number; end?: number }
        assertSame(Buffer.concat(copies), bytes.slice(start, end + 1), 'chunks in reused memory')
      }
    },
  )

  check('a reader may change and keep its chunks', async (storage) => {
    const bytes = pattern(3 * mebibyte)
    await storage.write('/file', stream(bytes))
    for (const range of [{}, { start: 65_535, end: 2 * mebibyte }]) {
      const kept: Uint8Array[] = []
      for await (const chunk of (await storage.read('/file', range)).content) kept.push(chunk)
      for (const chunk of kept) chunk.fill(0)
    }
    assertSame(await collect((await storage.read('/file')).content), bytes, 'the file')
  })

  check('a reader never sees two versions mixed, and never too few bytes', async (storage) => {
    const size = 3 * mebibyte
    const old = pattern(size, 1)
    const changes = ['overwrite', 'remove', ...(movesFiles(storage) ? ['move'] : [])]
    for (const change of changes) {
      await storage.write('/file', stream(old))
      const { entry, content } = await storage.read('/file')
      const reader = content[Symbol.asyncIterator]()
      const first = await reader.next()
      if (change === 'overwrite') await storage.write('/file', stream(pattern(size, 2)))
      if (change === 'remove') await storage.remove('/file')
      if (change === 'move') await storage.move?.('/file', '/moved')
      const chunks = first.done ? [] : [first.value]
      const seen = await collect({ [Symbol.asyncIterator]: () => reader }).then(
        (bytes) => Buffer.concat([...chunks, bytes]),
        () => null,
      )
      assert.equal(entry.size, size)
      if (seen !== null) assertSame(seen, old, `a read during "${change}"`)
    }
  })

  check('a reader can leave early, and several can read at the same time', async (storage) => {
    const bytes = pattern(2 * mebibyte)
    await storage.write('/file', stream(bytes))
    for (let round = 0; round < 20; round += 1) {
      const { content } = await storage.read('/file')
      for await (const chunk of content) {
        assert.equal(chunk[0], bytes[0])
        break
      }
    }
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        assertSame(await collect((await storage.read('/file')).content), bytes, 'one of 8 readers')
      }),
    )
    await storage.remove('/file')
  })

  check('an aborted read ends', async (storage) => {
    await storage.write('/file', stream(pattern(8 * mebibyte)))
    const before = AbortSignal.abort()
    await assertAborted(readWith(before), before)
    const controller = new AbortController()
    const { content } = await storage.read('/file', { signal: controller.signal })
    const aborted = async () => {
      for await (const _chunk of content) controller.abort()
    }
    await assertAborted(aborted(), controller.signal)

    async function readWith(signal: AbortSignal): Promise<void> {
      await collect((await storage.read('/file', { signal })).content)
    }
  })

  check('reading a missing path, a path below a file or a folder is an error', async (storage) => {
    await put(storage, '/folder/file', 'x')
    await assertFails(storage.read('/none'), ['NOT_FOUND'], 'a missing file')
    await assertFails(storage.read('/none/file'), ['NOT_FOUND'], 'a file in a missing folder')
    await assertFails(storage.read('/folder/file/below'), ['NOT_FOUND', 'CONFLICT'], 'a path below a file')
    await assertFails(storage.read('/folder'), ['CONFLICT', 'VALIDATION_ERROR'], 'a folder')
    await assertFails(storage.read('/'), ['CONFLICT', 'VALIDATION_ERROR'], 'the root')
    assert.equal(await text(storage, '/folder/file'), 'x')
  })
}
