import {
  appendFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { CarReader } from '@ipld/car'
import fc from 'fast-check'
import t from 'tap'
import { DamagedBlock } from '../../src/store/store-view.ts'
import { addFile, contentOf, fileAt, leaf, packFiles, storeStand } from './fixtures/store-stand.ts'

const parts = (seed: string) =>
  Array.from({ length: 8 }, (_, index) => `${seed}${index}`.padEnd(20_000, seed))

t.test('packs are CAR files, and a start cuts what a crash has left', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open()
  await addFile(store, '/a', parts('a'))
  await addFile(store, '/b', parts('b'))
  await store.close()
  const files = packFiles(stand)
  t.ok(files.length > 2)
  const sizes = files.map((file) => statSync(file).size)
  let blocks = 0
  for (const file of files) {
    const car = await CarReader.fromBytes(readFileSync(file))
    for await (const _ of car.blocks()) blocks += 1
  }
  t.ok(blocks >= 18)
  for (const file of files) appendFileSync(file, Buffer.alloc(1000, 1))
  const unnamed = join(stand.packs, '00000999.car')
  writeFileSync(unnamed, 'of a crash')
  const again = await stand.open()
  t.strictSame(
    files.map((file) => statSync(file).size),
    sizes,
  )
  t.notOk(existsSync(unnamed))
  t.equal(await fileAt(again.view, '/a'), parts('a').join(''))
  t.equal(await again.check(), null)
  await addFile(again, '/c', parts('c'))
  t.equal(await fileAt(again.view, '/c'), parts('c').join(''))
  t.equal(await again.check(), null)
})

t.test('a pack that is missing or has lost bytes is told, and all other files stay readable', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open()
  for (const name of ['a', 'b', 'c']) await addFile(store, `/${name}`, parts(name))
  await store.close()
  const files = packFiles(stand)
  rmSync(files[0] as string)
  truncateSync(files.at(-2) as string, 100)
  const again = await stand.open()
  t.match(await again.check(), /00000001\.car has only 0 of its/)
  t.match(stand.log.join('\n'), /has only 100 of its/)
  t.match(stand.log.join('\n'), /00000001\.car is missing/)
  await t.rejects(fileAt(again.view, '/a'), /damaged on the disk/)
  t.equal(await fileAt(again.view, '/b'), parts('b').join(''))
  await addFile(again, '/d', parts('d'))
  t.equal(
    await fileAt(again.view, '/d'),
    parts('d').join(''),
    'new blocks are not appended to a pack with a gap',
  )
  const { damaged } = await again.verify()
  t.ok(damaged.length > 0)
  t.strictSame([...new Set(damaged.flatMap(({ paths }) => paths))].sort(), ['/a', '/c'])
})

t.test('a changed byte is found, and never read', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open(1_000_000)
  const texts = parts('a').map((text) => text.slice(0, 300))
  await addFile(store, '/a', texts)
  const [file] = packFiles(stand) as [string]
  const whole = readFileSync(file)
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
      const changed = Buffer.from(whole)
      changed.writeUInt8(changed.readUInt8(at) ^ mask, at)
      writeFileSync(file, changed)
      let damaged = 0
      for (const text of texts) {
        const read = await contentOf(store.view, leaf(text).cid).catch((error) => error)
        if (read instanceof DamagedBlock) damaged += 1
        else if (read !== text) throw new Error('Wrong bytes were read.')
      }
      const result = await store.verify()
      if (damaged > result.damaged.length) throw new Error('A damaged block was not found.')
      if (result.damaged.some(({ paths }) => paths[0] !== '/a'))
        throw new Error('A damaged file was not named.')
    }),
    { numRuns: 60 },
  )
  writeFileSync(file, whole)
})
