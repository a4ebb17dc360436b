import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import * as dagCbor from '@ipld/dag-cbor'
import * as dagPb from '@ipld/dag-pb'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import t from 'tap'
import { holdBlock } from '../../src/store/held-block.ts'
import { LazyStore } from '../../src/store/lazy-store.ts'
import { blockOf, contentOf, fileNode, isStored, leaf, putAll, storeStand } from './fixtures/store-stand.ts'

const root = (holder: string, cid: CID | null) => ({ kind: 'root', holder, cid: cid?.bytes ?? null }) as const

t.test('blocks stay while a session or a name needs them, whoever has put them', async (t) => {
  const store = await storeStand(t).open()
  const parts = [leaf('one'), leaf('two')]
  const node = fileNode(parts)
  const aborted = store.session()
  await putAll(aborted, [...parts, node])
  const other = store.session()
  await other.put(leaf('one').cid, leaf('one').bytes)
  await store.change([])
  aborted.end()
  const swept = store.compact()
  await store.change([root('a', leaf('one').cid)])
  other.end()
  await swept
  t.equal(await contentOf(store.view, leaf('one').cid), 'one')
  t.notOk(await isStored(store.view, node.cid), 'what only the session held that ended is gone')
  t.notOk(await isStored(store.view, leaf('two').cid))
  await store.change([root('a', null)])
  await store.compact()
  t.notOk(await isStored(store.view, leaf('one').cid))
})

t.test('a session that asks for a block keeps it and all below it, although its name goes', async (t) => {
  const store = await storeStand(t).open()
  const parts = [leaf('one'), leaf('two')]
  const node = fileNode(parts)
  const adding = store.session()
  await putAll(adding, [...parts, node])
  await store.change([root('a', node.cid)])
  adding.end()
  const reading = store.session()
  await reading.hold(node.cid)
  await store.change([root('a', null)])
  const later = store.session()
  await later.hold(leaf('two').cid)
  t.equal(await contentOf(store.view, node.cid), 'onetwo')
  reading.end()
  while (await isStored(store.view, leaf('one').cid)) await setImmediate()
  t.notOk(await isStored(store.view, node.cid))
  t.equal(await contentOf(store.view, leaf('two').cid), 'two', 'a session held a block of the one that went')
  await t.rejects(reading.hold(node.cid), /has ended/)
  await t.rejects(later.hold(node.cid), { code: 'NOT_FOUND' })
})

t.test('a long reading keeps what it reads, and nothing else', async (t) => {
  const store = await storeStand(t).open()
  const parts = [leaf('one'), leaf('two')]
  const node = fileNode(parts)
  const other = leaf('other')
  const adding = store.session()
  await putAll(adding, [...parts, node, other])
  await store.change([root('a', node.cid), root('b', other.cid)])
  adding.end()
  const reading = await holdBlock(store, node.cid, { holdMs: 10 })
  await store.change([root('a', null), root('b', null)])
  await store.compact()
  t.notOk(await isStored(store.view, other.cid))
  t.equal(await contentOf(store.view, node.cid), 'onetwo')
  reading.end()
  while (await isStored(store.view, leaf('one').cid)) await setImmediate()
  await t.rejects(holdBlock(store, node.cid), { code: 'NOT_FOUND' })
})

t.test('requests that nobody waits for are performed in their order', async (t) => {
  const store = await storeStand(t).open()
  const session = store.session()
  const block = leaf('in order')
  await Promise.all([
    session.put(block.cid, block.bytes),
    store.change([root('a', block.cid)]),
    store.change([root('a', null), root('b', block.cid)]),
  ])
  session.end()
  const closed = store.close()
  await t.rejects(store.change([root('c', null)]), { code: 'SERVICE_UNAVAILABLE' })
  await closed
  session.end()
  await store.close()
  t.notOk(store.isOpen)
})

t.test('a change that cannot be made leaves those beside it whole', async (t) => {
  const store = await storeStand(t).open()
  const session = store.session()
  const [one, two] = [leaf('one'), leaf('two')]
  const results = await Promise.allSettled([
    session.put(one.cid, one.bytes),
    store.change([root('a', one.cid)]),
    store.change([root('b', one.cid), root('c', two.cid)]),
    store.change([root('d', one.cid)]),
  ])
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  const holders = store.view.connection.prepare('SELECT holder FROM root ORDER BY holder').all()
  t.strictSame(
    holders.map(({ holder }) => holder),
    ['a', 'd'],
  )
})

t.test('a session takes raw and DAG-PB blocks with SHA-256 only, after those below them', async (t) => {
  const store = await storeStand(t).open()
  const session = store.session()
  const refused = { code: 'VALIDATION_ERROR' }
  const put = ({ cid, bytes }: ReturnType<typeof leaf>) => session.put(cid, bytes)
  await t.rejects(
    put(blockOf(dagCbor.encode({ treeRecord: 1 }), dagCbor.code)),
    refused,
    'no records of the tree',
  )
  await t.rejects(put(blockOf(Buffer.alloc(2 * 1024 * 1024 + 1))), refused)
  await t.rejects(put(blockOf(Buffer.from('no node'), dagPb.code)), refused)
  await t.rejects(
    put({ cid: CID.createV1(0x55, identity.digest(Buffer.from('a'))), bytes: Buffer.from('a') }),
    refused,
  )
  await t.rejects(put(fileNode([leaf('missing')])), refused)
  await t.rejects(store.change([root('a', leaf('missing').cid)]), refused)
  const inline = {
    cid: CID.createV1(0x55, identity.digest(Buffer.from('in its CID'))),
    bytes: Buffer.from('in its CID'),
  }
  await t.rejects(
    put(fileNode(Array(16_385).fill(inline))),
    refused,
    'more links than may be decoded at once',
  )
  const old = fileNode([inline])
  await put({ cid: CID.createV0(old.cid.multihash as never), bytes: old.bytes })
  await store.change([root('a', old.cid)])
  t.equal(await contentOf(store.view, CID.createV0(old.cid.multihash as never)), 'in its CID')
})

t.test('a session with many small blocks lets the index have them long before its end', async (t) => {
  const store = await storeStand(t).open()
  const session = store.session()
  const count = 12_000
  const puts = Array.from({ length: count }, (_, index) => leaf(`${index}`)).map(({ cid, bytes }) =>
    session.put(cid, bytes),
  )
  await Promise.all(puts)
  t.ok(await isStored(store.view, leaf('0').cid), 'the first ones wait in memory no more')
  session.end()
})

t.test('one folder is open once', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open()
  await t.rejects(stand.open(), /Another program uses the store of blocks/)
  await store.close()
  t.ok((await stand.open()).isOpen)
})

t.test(
  'a store whose index is damaged while it is open is opened anew, with an index made from the packs',
  async (t) => {
    const stand = storeStand(t)
    const log = { info() {}, warn() {} }
    const lazy = new LazyStore(stand.packs, () => stand.index, log)
    t.teardown(() => lazy.close())
    const store = await stand.open()
    const session = store.session()
    const blocks = Array.from({ length: 2000 }, (_, index) => leaf(`block ${index}`))
    await Promise.all(blocks.map(({ cid, bytes }) => session.put(cid, bytes)))
    const { cid } = fileNode(blocks)
    await putAll(session, [fileNode(blocks)])
    await store.change([root('a', cid)])
    session.end()
    await store.close()
    const first = await lazy.open()
    // Another process writes: to close the file in this one would drop locks. Rows of the middle are in no memory.
    const pages = statSync(stand.index).size / 4096 - 1
    const damage = [`of=${stand.index}`, 'bs=4096', 'seek=1', `count=${pages}`, 'conv=notrunc', 'status=none']
    execFileSync('dd', ['if=/dev/urandom', ...damage])
    const named = Promise.all(blocks.map((block, index) => first.change([root(`${index}`, block.cid)])))
    await t.rejects(named, { code: 'SERVICE_UNAVAILABLE' })
    const again = await lazy.open()
    t.not(again, first)
    await again.change([root('b', cid)])
    t.equal(await contentOf(again.view, cid), blocks.map((_, index) => `block ${index}`).join(''))
  },
)
