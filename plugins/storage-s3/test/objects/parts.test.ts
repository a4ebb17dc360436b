import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { PartMemory, partBytesFor, partsOf } from '../../src/objects/parts.ts'

t.test('a content that has more parts than an object may have is refused', async (t) => {
  const partBytes = partBytesFor(625 * 2 ** 30)
  t.equal(partBytes, 64 * 2 ** 20)
  t.throws(() => partBytesFor(625 * 2 ** 30 + 1), { code: 'VALIDATION_ERROR', message: /up to 625 GiB/ })

  async function* content(size: number) {
    yield Buffer.alloc(size)
  }
  const numbersOf = async (size: number) => {
    let released = 0
    let taken = 0
    const acquire = async () => {
      taken += 1
      return () => {
        released += 1
      }
    }
    let last = 0
    try {
      for await (const { number, isLast, release } of partsOf(content(size), 2, acquire)) {
        release()
        if (isLast) last = number
      }
    } finally {
      t.equal(released, taken, 'no part keeps its memory')
    }
    return last
  }
  t.equal(await numbersOf(20_000), 10_000)
  await t.rejects(numbersOf(20_001), { code: 'VALIDATION_ERROR', message: /Send the file with its size/ })
})

t.test('an upload that holds its memory does not keep that of others', async (t) => {
  const memory = new PartMemory()
  const held = await Promise.all(Array.from({ length: 16 }, () => memory.acquire('ada', 1)))
  let isMore = false
  const more = memory.acquire('ada', 1).then((release) => {
    isMore = true
    return release
  })
  const other = await memory.acquire('bob', 1)
  await setImmediate()
  t.equal(isMore, false, 'a user has 16 parts at most')
  held[0]?.()
  const last = await more
  for (const release of [...held.slice(1), other, last]) release()
})
