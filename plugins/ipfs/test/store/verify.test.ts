import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import t from 'tap'
import {
  addFile,
  fileAt,
  fileNode,
  folderNode,
  isStored,
  leaf,
  packFiles,
  putAll,
  storeStand,
} from './fixtures/store-stand.ts'

/** Changes a byte of a text in a file. */
function damage(file: string, text: string): void {
  const bytes = readFileSync(file)
  const at = bytes.indexOf(text, 'latin1')
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(file, bytes)
}

t.test('a verification reads all blocks, and names the files and the roots with damaged ones', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open(1_000_000)
  const shared = 'a block of two files'
  await addFile(store, '/a/one', [shared, 'other'])
  await addFile(store, '/two', ['first', shared])
  await addFile(store, '/whole', ['first', 'other'])
  const folder = folderNode({ two: fileNode([leaf('first'), leaf(shared)]) })
  const session = store.session()
  await putAll(session, [folder])
  await store.change([{ kind: 'root', holder: 'publication:1', cid: folder.cid.bytes }])
  session.end()
  t.equal(await store.check(), null)
  const seen: number[] = []
  const whole = await store.verify({ onProgress: (bytes, of) => void seen.push(bytes / of) })
  t.match(whole, { blocks: 7, damaged: [] })
  t.equal(seen.at(-1), 1)
  damage(packFiles(stand)[0] as string, shared)
  const { damaged } = await store.verify()
  t.strictSame(
    damaged.map(({ cid, paths, holders }) => ({ cid: `${cid}`, paths, holders })),
    [{ cid: `${leaf(shared).cid}`, paths: ['/a/one', '/two'], holders: ['publication:1'] }],
  )
  const left = new AbortController()
  const reason = new Error('enough')
  const ended = store.verify({ signal: left.signal, onProgress: () => left.abort(reason) })
  await t.rejects(ended, reason)
})

t.test('a check of the newest pack reads each block once after a start', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open(1_000_000)
  await addFile(store, '/a', ['the first block'])
  t.equal(await store.check(), null)
  const [file] = packFiles(stand) as [string]
  damage(file, 'the first block')
  t.equal(await store.check(), null, 'it was checked')
  await addFile(store, '/b', ['the second block'])
  damage(file, 'the second block')
  t.match(await store.check(), /The block \S+ is damaged/)
  t.match(await store.check(), /The block \S+ is damaged/, 'and stays told')
  await store.close()
  t.equal(await store.check(), 'The store of blocks is closed.')
  const again = await stand.open(1_000_000)
  t.match(await again.check(), /The block \S+ is damaged/)
})

t.test('what is stored again is whole again, for everybody who has it', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open(1_000_000)
  const texts = ['a block that is damaged', 'another one']
  const node = await addFile(store, '/a', texts)
  await addFile(store, '/b', texts)
  const [file] = packFiles(stand) as [string]
  for (const text of texts) damage(file, text)
  damage(file, Buffer.from(node.bytes).toString('latin1'))
  t.match(await store.check(), /is damaged/)
  await addFile(store, '/c', texts)
  t.equal(await store.check(), null)
  for (const path of ['/a', '/b', '/c']) t.equal(await fileAt(store.view, path), texts.join(''))
  t.strictSame((await store.verify()).damaged, [])
  await store.change(['/a', '/b', '/c'].map((path) => ({ kind: 'remove', path })))
  await store.compact()
  t.notOk(await isStored(store.view, node.cid))
  for (const text of texts) t.notOk(await isStored(store.view, leaf(text).cid), 'nothing counts twice')

  await addFile(store, '/d', texts)
  await store.close()
  for (const pack of packFiles(stand)) rmSync(pack)
  const again = await stand.open(1_000_000)
  await t.rejects(fileAt(again.view, '/d'), /damaged on the disk/)
  await addFile(again, '/e', texts)
  t.equal(await fileAt(again.view, '/d'), texts.join(''))
})

t.test('a verification names the files whose blocks no pack has any more', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open(1_000_000)
  await addFile(store, '/whole', ['one'])
  await addFile(store, '/lost', ['a block that is lost'])
  await store.close()
  damage(packFiles(stand)[0] as string, 'a block that is lost')
  rmSync(stand.index)
  const again = await stand.open(1_000_000)
  t.match(
    (await again.verify()).damaged.map(({ cid, paths }) => ({ cid: `${cid}`, paths })),
    [{ cid: `${leaf('a block that is lost').cid}`, paths: ['/lost'] }],
  )
})
