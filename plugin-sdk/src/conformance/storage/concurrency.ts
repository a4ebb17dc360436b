import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { assertContent, assertSame, names } from './assertions.ts'
import { collect, pattern, stream } from './bytes.ts'
import type { StorageCheck } from './subject.ts'

export function concurrencyChecks(check: StorageCheck): void {
  check(
    'the last of several writes of a file wins whole, and readers see whole versions only',
    async (storage) => {
      const size = 300_000
      const versions = Array.from({ length: 12 }, (_, version) => pattern(size, version + 1))
      await storage.write('/file', stream(pattern(size, 99)))
      const known = [...versions, pattern(size, 99)].map((bytes) => Buffer.from(bytes))
      let writing = true
      const readers = Array.from({ length: 3 }, async () => {
        while (writing) {
          const seen = await collect((await storage.read('/file')).content)
          assert.ok(
            known.some((bytes) => bytes.equals(seen)),
            'a reader saw bytes that no write contained',
          )
          // A backend in memory never waits for anything, and would keep the writers from running.
          await setImmediate()
        }
      })
      const writers = versions.map((bytes, version) =>
        storage.write('/file', stream(bytes, 1000 + 7001 * version)),
      )
      const written = await Promise.all(writers).finally(() => {
        writing = false
      })
      await Promise.all(readers)
      const { revision } = await storage.stat('/file')
      const winner = written.findIndex((entry) => entry.revision === revision)
      assert.notEqual(winner, -1, 'the file has the revision of one of the writes')
      assertSame(
        await collect((await storage.read('/file')).content),
        versions[winner] ?? Buffer.alloc(0),
        'the winner',
      )
    },
  )

  check('many files can be written at the same time into folders that do not exist yet', async (storage) => {
    const files = Array.from({ length: 64 }, (_, index) => ({
      path: `/new/${index % 4}/inner/${index}`,
      bytes: pattern(20_000 + index, index + 1),
    }))
    await Promise.all(files.map(({ path, bytes }) => storage.write(path, stream(bytes, 4096))))
    for (const { path, bytes } of files) await assertContent(storage, path, bytes)
    assert.deepEqual(await names(storage, '/new'), ['0', '1', '2', '3'])
  })
}
