import { execFile } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import * as dagCbor from '@ipld/dag-cbor'
import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import t from 'tap'
import { Entries } from '../../src/entries/entries.ts'
import { nameFrom } from '../../src/entries/entry-names.ts'
import { sectionHead } from '../../src/store/pack-format.ts'
import { type EntryRow, recordOf, rowsOf } from '../../src/store/tree-record.ts'
import {
  addFile,
  type Block,
  blockOf,
  contentOf,
  fileAt,
  fileNode,
  folderNode,
  leaf,
  packFiles,
  pathsIn,
  putAll,
  type StoreStand,
  storeStand,
} from './fixtures/store-stand.ts'

function loseIndex({ index }: StoreStand): void {
  for (const ending of ['', '-wal', '-shm']) rmSync(index + ending, { force: true })
}

t.test(
  'after a power loss without the index, all files are there that the newest record names, and newer ones as /recovered',
  async (t) => {
    const stand = storeStand(t)
    const script = fileURLToPath(new URL('fixtures/killed-store.ts', import.meta.url))
    const killed = await promisify(execFile)(process.execPath, [
      '--conditions=nodekeep-source',
      script,
      stand.folder,
    ]).catch((error) => error)
    t.equal(killed.signal, 'SIGKILL', killed.stderr)
    loseIndex(stand)
    const store = await stand.open()
    for (let count = 0; count < 40; count += 1)
      t.equal(await fileAt(store.view, `/user/${count}`), `${count}${`${count}`.padEnd(9000, '.')}`)
    const { entry } = new Entries(store.view.connection).get('/user/7')
    t.match(entry, {
      size: 9001,
      revision: 'revision of /user/7',
      modified: new Date(1000),
      created: new Date(500),
    })
    const newer = fileNode([leaf('newer')])
    const folder = folderNode({ inner: folderNode({ name: leaf('in a folder') }) })
    t.strictSame(
      pathsIn(store.view, '/recovered').sort(),
      [
        `/recovered/${newer.cid}`,
        `/recovered/${folder.cid}`,
        `/recovered/${folder.cid}/inner`,
        `/recovered/${folder.cid}/inner/name`,
      ].sort(),
    )
    t.equal(await fileAt(store.view, `/recovered/${newer.cid}`), 'newer')
    t.equal(await fileAt(store.view, `/recovered/${folder.cid}/inner/name`), 'in a folder')
    t.match(
      stand.log.join('\n'),
      /was lost, and has been made again from \d+ blocks. The tree is that of \d{4}-.*recovered: 2\./,
    )
    t.ok(store.view.connection.prepare('SELECT 1 FROM root WHERE holder = ?').get('publication:1'))
    t.equal((await store.verify()).damaged.length, 0)
    await store.change([
      { kind: 'remove', path: '/user' },
      { kind: 'remove', path: '/recovered' },
      { kind: 'root', holder: 'publication:1', cid: null },
    ])
    await store.compact()
    const left = store.view.connection
      .prepare("SELECT count(*) AS left FROM block WHERE substr(cid, 2, 1) <> x'71'")
      .get()
    t.equal(left?.left, 0, 'the counts of references were right: nothing stays')
  },
)

t.test('a large folder that nothing names is recovered with its names, whatever its width is', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open()
  const shard = (links: Readonly<Record<string, Block>>) => {
    const Links = Object.entries(links).map(([Name, { cid, bytes }]) => ({
      Name,
      Hash: cid,
      Tsize: bytes.length,
    }))
    const Data = new UnixFS({ type: 'hamt-sharded-directory', fanout: 16n, hashType: 0x22n }).marshal()
    return blockOf(dagPb.encode(dagPb.prepare({ Data, Links })), dagPb.code)
  }
  const [one, other] = [leaf('one'), leaf('other')]
  const below = shard({ '3other': other })
  const folder = shard({ '0one': one, '1': below })
  await putAll(store.session(), [one, other, below, folder])
  await store.close()
  loseIndex(stand)
  const { view } = await stand.open()
  t.equal(await fileAt(view, `/recovered/${folder.cid}/one`), 'one')
  t.equal(await fileAt(view, `/recovered/${folder.cid}/other`), 'other')
})

t.test('the tree is recorded again and again, if it has changed', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open(64 * 1024, 20)
  const { view } = store
  const newest = view.connection.prepare("SELECT cid FROM root WHERE holder = 'tree'")
  const recordedNames = async () => {
    const record = recordOf(await view.get(CID.decode(newest.get()?.cid as Uint8Array)))
    const parts = await Promise.all((record?.entries ?? []).map((cid) => view.get(cid)))
    return parts.flatMap((part) => rowsOf<EntryRow>(part)).map(([, , name]) => nameFrom(name))
  }
  const untilRecorded = async (name: string) => {
    await addFile(store, `/${name}`, [name])
    // There is no record yet, or a newer one has replaced the one that is read.
    while (!(await recordedNames().catch(() => [] as string[])).includes(name)) await setImmediate()
  }
  await untilRecorded('a')
  await untilRecorded('b')
  // As it is after a power loss without the index.
  const lost = storeStand(t)
  cpSync(stand.packs, lost.packs, { recursive: true })
  rmSync(`${lost.packs}/lock`, { force: true })
  const again = await lost.open()
  t.strictSame(pathsIn(again.view), ['/a', '/b'])
  t.match(lost.log.join('\n'), /The tree is that of \d{4}-.*recovered: 0\./)
})

t.test('an index that is no database, or one of another version, is made again and set aside', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open()
  await addFile(store, '/a', ['a'])
  await store.close()
  const broken = [
    () => writeFileSync(stand.index, 'no database at all'),
    () => {
      const index = new DatabaseSync(stand.index)
      index.exec('PRAGMA user_version = 99')
      index.close()
    },
    () => loseIndex(stand),
    () => {
      loseIndex(stand)
      writeFileSync(stand.index, '')
    },
  ]
  for (const breakIndex of broken) {
    breakIndex()
    const again = await stand.open()
    t.equal(await fileAt(again.view, '/a'), 'a')
    t.equal(new Entries(again.view.connection).get('/a').entry.revision, 'revision of /a')
    t.notOk(existsSync(`${stand.index}-journal`))
    await again.close()
  }
  t.ok(existsSync(`${stand.index}.damaged`))
})

t.test(
  'damage in a pack costs the damaged blocks only, also if the length of a section is damaged',
  async (t) => {
    const stand = storeStand(t)
    const store = await stand.open(1_000_000)
    const names = Array.from({ length: 20 }, (_, index) => `/${index}`)
    for (const name of names) await addFile(store, name, [`${name} `.padEnd(3000, name), 'end'])
    // Records of the tree are believed behind the longest block that may be damaged.
    for (const name of ['/x', '/y', '/z']) await addFile(store, name, [name.padEnd(1_000_000, name)])
    await store.close()
    const [file] = packFiles(stand) as [string]
    const pack = readFileSync(file)
    const at = (text: string) => pack.indexOf(text)
    pack.writeUInt8(1, at('/3 '))
    const head = sectionHead(leaf('/7 '.padEnd(3000, '/7')).cid.bytes, 3000)
    pack.writeUInt8(0xff, at('/7 ') - head.length)
    writeFileSync(file, pack)
    loseIndex(stand)
    const again = await stand.open()
    t.strictSame(pathsIn(again.view), [...names, '/x', '/y', '/z'].sort())
    for (const name of names) {
      if (name === '/3' || name === '/7') await t.rejects(fileAt(again.view, name), /damaged on the disk/)
      else t.equal(await fileAt(again.view, name), `${`${name} `.padEnd(3000, name)}end`)
    }
    t.equal(stand.log.filter((line) => /Bytes \d+ to \d+ of .* are damaged/.test(line)).length, 2)
    await addFile(again, '/3 again', ['/3 '.padEnd(3000, '/3'), 'end'])
    t.equal(
      await fileAt(again.view, '/3'),
      `${'/3 '.padEnd(3000, '/3')}end`,
      'a lost block that is put again heals its files',
    )
    await again.change(names.map((path) => ({ kind: 'remove', path })))
    await again.compact()
    t.equal(await fileAt(again.view, '/3 again'), `${'/3 '.padEnd(3000, '/3')}end`)
  },
)

t.test(
  "a record of the tree in the bytes of a user's file is not believed, even if damage uncovers it",
  async (t) => {
    const stand = storeStand(t)
    const store = await stand.open(1_000_000)
    const target = leaf('content of somebody else')
    const session = store.session()
    await putAll(session, [target])
    await store.change([{ kind: 'root', holder: 'a', cid: target.cid.bytes }])
    const part = blockOf(
      dagCbor.encode({
        rows: [
          [1, 1, new Uint8Array(0), null, 0, 0, 0, 'root'],
          [2, 1, Buffer.from('\0f'), target.cid.bytes, 1, 1, 1, 'r'],
        ],
      }),
      dagCbor.code,
    )
    const record = blockOf(
      dagCbor.encode({ treeRecord: 1, time: 9e12, entries: [part.cid], roots: [] }),
      dagCbor.code,
    )
    const sections = [part, record].flatMap(({ cid, bytes }) => [sectionHead(cid.bytes, bytes.length), bytes])
    const hostile = blockOf(Buffer.concat([Buffer.alloc(100), ...sections, Buffer.alloc(100)]))
    await putAll(session, [hostile])
    await store.change([{ kind: 'root', holder: 'b', cid: hostile.cid.bytes }])
    session.end()
    await store.close()
    const [file] = packFiles(stand) as [string]
    const pack = readFileSync(file)
    const start = pack.indexOf(hostile.bytes)
    pack.writeUInt8(0xff, start - 36 - 2)
    writeFileSync(file, pack)
    loseIndex(stand)
    const again = await stand.open()
    t.notOk(pathsIn(again.view).includes('/f'))
    t.equal(await contentOf(again.view, target.cid), 'content of somebody else')
  },
)

t.test('no folder that is recovered leads out, or is larger than its blocks', async (t) => {
  const stand = storeStand(t)
  const store = await stand.open(1_000_000)
  const good = leaf('good')
  const session = store.session()
  await putAll(session, [good])
  let top = folderNode({ '.': good, '..': good, 'a\0b': good, 'a/b': good, good })
  await putAll(session, [top])
  for (let level = 0; level < 40; level += 1) {
    top = folderNode({ a: top, b: top })
    await putAll(session, [top])
  }
  session.end()
  await store.close()
  loseIndex(stand)
  const paths = pathsIn((await stand.open()).view)
  t.strictSame(
    paths.filter((path) => !/^\/recovered(\/\w+)?(\/[ab])*$/.test(path)),
    [`/recovered/${top.cid}${'/a'.repeat(40)}/good`],
  )
})
