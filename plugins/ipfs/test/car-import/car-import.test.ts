import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import t from 'tap'
import { type Block, block, carOf, file, folder, rawBlock, node as unixFs, varint, version2 } from './cars.ts'
import { fixture, importCar, listed, spools, startedNode, textOf } from './import-node.ts'

t.jobs = 3

t.test('the files of CARs that Kubo made are written as they are', async (t) => {
  const node = await startedNode(t)
  const ada = await node.signIn()
  const list = await importCar(ada, await fixture('dir-listing.car'))
  const cid = 'bafybeig6ka5mlwkl4subqhaiatalkcleo4jgnr3hqwvpmsqfca27cijp3i'
  t.strictSame(await list.json(), { path: `/${cid}`, cid, files: 4, bytes: 150, symlinks: 0 })
  t.strictSame(
    await listed(ada, `/${cid}`),
    [
      'api',
      'api/file.txt',
      'ipfs',
      'ipfs/file.txt',
      'ipns',
      'ipns/file.txt',
      'ą',
      'ą/ę',
      'ą/ę/file-źł.txt',
    ].map((path) => `/${cid}/${path}`),
  )

  const newest = await ada.fetch('/api/files/changes/newest?limit=9')
  const { changes } = (await newest.json()) as { changes: { group: string; maker: object }[] }
  t.equal(new Set(changes.map(({ group }) => group)).size, 1, 'an import is one group of changes')
  t.match(changes[0], { group: /^[\w-]{20}$/, maker: { kind: 'session', user: ada.user.uuid } })

  const large = await importCar(
    ada,
    await fixture('single-layer-hamt-with-multi-block-files.car'),
    'path=/&name=large',
  )
  t.match(await large.json(), { path: '/large', symlinks: 0 })
  const names = (await listed(ada, '/large')).map((path) => path.slice('/large/'.length))
  t.ok(names.includes('470.txt'))
  t.equal((await textOf(ada, '/large/470.txt')).length, 1026)

  const links = await importCar(ada, await fixture('symlink.car'), 'path=/&name=links')
  t.match(await links.json(), { path: '/links', files: 1, bytes: 8, symlinks: 1 })
  t.strictSame(await listed(ada, '/links'), ['/links/foo'])
  t.equal(await textOf(ada, '/links/foo'), 'content\n')

  const missing = await importCar(
    ada,
    await fixture('file-3k-and-3-blocks-missing-block.car'),
    'path=/&name=3k',
  )
  t.equal(missing.status, 400)
  t.match(await missing.json(), { message: /does not have the block Qm\w+tv8h1W\.$/ })
  t.equal((await ada.fetch('/stat?path=/3k')).status, 404)
  t.strictSame(await spools(node), [])
})

t.test('CARs of others whose names lead out, or with codecs that are no files, write nothing', async (t) => {
  const node = await startedNode(t)
  const ada = await node.signIn()
  const refused = async (name: string) => {
    const answer = await importCar(ada, await fixture(name))
    t.equal(answer.status, 400, name)
    return ((await answer.json()) as { message: string }).message
  }
  for (const name of ['outside-root.car', 'inside-root.car']) t.match(await refused(name), /\.\.\//)
  for (const name of ['dag-cbor-traversal.car', 'dir-with-dag-cbor-with-links.car'])
    t.match(await refused(name), /bafyrei/)
  t.strictSame(await listed(ada), [])
  t.strictSame(await spools(node), [])
  const taken = await importCar(ada, await fixture('dag-pb.car'), 'path=/&name=taken')
  t.match(await taken.json(), { path: '/taken', files: 2, bytes: 27 })
  t.equal(await textOf(ada, '/taken/foo/bar.txt'), 'Hello, world!\n')
})

t.test('a file gets a name, and nothing is replaced', async (t) => {
  const node = await startedNode(t)
  const ada = await node.signIn()
  const part = await rawBlock('one')
  const other = await rawBlock('two')
  const two = await file([
    [3, part.cid],
    [3, other.cid],
  ])
  const car = carOf([two.cid], [two, part, other])
  t.match(await (await importCar(ada, car)).json(), { path: `/${two.cid}`, files: 1, bytes: 6 })
  t.equal(await textOf(ada, `/${two.cid}`), 'onetwo')
  for (const path of ['/a.tar.gz', '/a.tar (2).gz', '/a.tar (3).gz'])
    t.match(await (await importCar(ada, car, 'path=/&name=a.tar.gz')).json(), { path })
  t.match(await (await importCar(ada, version2(car), 'path=/&name=v2')).json(), { path: '/v2', bytes: 6 })
  t.match(await (await importCar(ada, carOf([part.cid], [part]), 'path=/&name=raw')).json(), {
    path: '/raw',
    bytes: 3,
  })

  t.equal((await importCar(ada, car, 'path=/none')).status, 404)
  t.equal((await importCar(ada, car, 'path=/raw')).status, 400)
  for (const name of ['..', 'a%2Fb', '.', 'a%00', 'x'.repeat(256), '%5C'])
    t.equal((await importCar(ada, car, `path=/&name=${name}`)).status, 400, name)
  t.equal((await importCar(ada, car, 'path=/', { headers: { 'content-type': 'text/plain' } })).status, 415)
  const encoded = { 'content-type': 'application/vnd.ipld.car', 'content-encoding': 'gzip' }
  t.equal((await importCar(ada, car, 'path=/', { headers: encoded })).status, 415)
  t.equal((await node.fetch('/api/ipfs/import?path=/', { method: 'POST' })).status, 401)

  const bob = await node.signIn()
  t.strictSame(await listed(bob), [])
  t.strictSame(await spools(node), [])
})

t.test('a CAR that lies writes nothing, and nothing of it stays', async (t) => {
  const node = await startedNode(t, { maxImportBytes: 4 * 1024 * 1024 })
  const ada = await node.signIn()
  const good = await rawBlock('good')
  const goodCar = carOf([good.cid], [good])
  const inFolder = async (name: string) => {
    const top = await folder([[name, good.cid]])
    return carOf([top.cid], [top, good])
  }
  const levels = async (count: number) => {
    const blocks = [good]
    for (let level = 0; level < count; level += 1)
      blocks.push(await folder([['x', (blocks.at(-1) as Block).cid]]))
    return carOf([(blocks.at(-1) as Block).cid], blocks)
  }
  const empty = await rawBlock('')
  const shardOf = (links: readonly (readonly [string, CID])[], fanout = 256n) =>
    unixFs(
      { type: 'hamt-sharded-directory', data: Uint8Array.of(1), fanout, hashType: 0x22n } as never,
      links,
    )
  const cbor = await block(0x71, Uint8Array.of(0xa0))
  const wrong = await file([[5, good.cid]])
  const pair = await folder([
    ['a', good.cid],
    ['a', good.cid],
  ])
  const sameInNfc = await folder([
    ['e\u0301', good.cid],
    ['\u00e9', good.cid],
  ])
  const link = await unixFs({ type: 'symlink', data: Buffer.from('/etc/passwd') }, [])
  const oddShard = await shardOf([['0Gname', good.cid]])
  const wideShard = await shardOf([['00name', good.cid]], 2n ** 40n)
  const outShard = await shardOf([['00../x', good.cid]])
  const metadata = await unixFs({ type: 'metadata' }, [])
  const noUnixFs = await block(0x70, Uint8Array.of())
  const lie = { cid: CID.createV1(0x55, identity.digest(Buffer.from('a'))), bytes: Buffer.from('b') }
  const section = (length: number) =>
    Buffer.concat([
      goodCar.subarray(0, goodCar.length - good.bytes.length - good.cid.bytes.length - 1),
      varint(length),
      good.cid.bytes,
      good.bytes,
    ])

  const cases: Record<string, [car: Uint8Array, status: number, message: RegExp]> = {
    'no CAR': [Buffer.from('hello'), 400, /not a CAR/],
    nothing: [new Uint8Array(0), 400, /not a CAR/],
    'no root': [carOf([], [good]), 400, /one root/],
    'two roots': [carOf([good.cid, empty.cid], [good, empty]), 400, /one root/],
    'a root that is missing': [carOf([empty.cid], [good]), 400, new RegExp(String(empty.cid))],
    'cut short': [goodCar.subarray(0, -1), 400, /cut short/],
    'bytes behind it': [Buffer.concat([goodCar, Uint8Array.of(0)]), 400, /not a CAR/],
    'a wrong hash': [carOf([good.cid], [{ ...good, bytes: Buffer.from('evil') }]), 400, /SHA-256/],
    'a wrong hash of a block that nothing needs': [
      carOf([good.cid], [good, { ...empty, bytes: Buffer.from('x') }]),
      400,
      /SHA-256/,
    ],
    'an identity that is another': [carOf([good.cid], [good, lie]), 400, /SHA-256/],
    'an unknown codec': [carOf([good.cid], [good, cbor]), 400, /codec 0x71/],
    'a root with an unknown codec': [carOf([cbor.cid], [good]), 400, /does not have the block/],
    'a large block': [
      carOf([good.cid], [good, await rawBlock(new Uint8Array(2 * 1024 * 1024 + 1))]),
      400,
      /2 MiB/,
    ],
    'a section shorter than its CID': [section(1), 400, /shorter than its CID/],
    'a section that goes back to its own begin': [section(2), 400, /shorter than its CID/],
    'a section of 2 PiB': [section(2 ** 51), 400, /2 MiB/],
    'a length that overflows': [Buffer.concat([goodCar, Buffer.alloc(20, 0xff)]), 400, /not a CAR/],
    'a header of 4 GiB': [Buffer.concat([varint(2 ** 32), Buffer.alloc(100)]), 400, /2 MiB/],
    'a header within a header': [
      Buffer.concat([varint(4), Buffer.from('a1a1a1a1', 'hex')]),
      400,
      /not a CAR/,
    ],
    'version 2 that points before its header': [version2(goodCar, { dataOffset: 3 }), 400, /./],
    'version 2 that points behind its end': [version2(goodCar, { dataOffset: 2 ** 50 }), 400, /cut short/],
    'version 2 that is shorter than it says': [version2(goodCar, { dataSize: 10 }), 400, /./],
    '..': [await inFolder('..'), 400, /no file or folder can have the name/],
    '.': [await inFolder('.'), 400, /no file or folder can have the name/],
    'a slash': [await inFolder('../evil'), 400, /no file or folder can have the name/],
    'a backslash': [await inFolder('..\\evil'), 400, /no file or folder can have the name/],
    'an empty name': [await inFolder(''), 400, /no file or folder can have the name/],
    NUL: [await inFolder('a\0b'), 400, /no file or folder can have the name/],
    'a long name': [await inFolder('é'.repeat(128)), 400, /no file or folder can have the name/],
    'a name twice': [carOf([pair.cid], [pair, good]), 400, /two entries/],
    'a name twice in NFC': [carOf([sameInNfc.cid], [sameInNfc, good]), 400, /two entries/],
    'a part of another size': [carOf([wrong.cid], [wrong, good]), 400, /not the part of a file/],
    'a symbolic link as the root': [carOf([link.cid], [link]), 400, /symbolic link/],
    'a place that is none': [carOf([oddShard.cid], [oddShard, good]), 400, /without a place/],
    'a node of any width': [carOf([wideShard.cid], [wideShard, good]), 400, /width/],
    'a name that leads out of a large folder': [
      carOf([outShard.cid], [outShard, good]),
      400,
      /no file or folder/,
    ],
    metadata: [carOf([metadata.cid], [metadata]), 400, /no file and no folder/],
    'a block without UnixFS': [carOf([noUnixFs.cid], [noUnixFs]), 400, /no file and no folder/],
    '65 levels': [await levels(65), 400, /64 levels/],
    'more bytes than allowed': [
      Buffer.concat([goodCar, Buffer.alloc(4 * 1024 * 1024)]),
      413,
      /at most 4194304/,
    ],
  }
  for (const [name, [car, status, message]] of Object.entries(cases)) {
    const answer = await importCar(ada, car as Uint8Array<ArrayBuffer>)
    t.equal(answer.status, status, name)
    t.match(await answer.json(), { error: true, message }, name)
    t.strictSame(await listed(ada), [], name)
    t.strictSame(await spools(node), [], name)
  }
  t.equal((await importCar(ada, await levels(63))).status, 200, '64 levels')
})

t.test('a CAR with changed bytes is refused, or is the same CAR', async (t) => {
  const node = await startedNode(t)
  const ada = await node.signIn()
  const parts = await Promise.all(['first', 'second', ''].map((text) => rawBlock(text)))
  const [first, second, empty] = parts as [Block, Block, Block]
  const both = await file([
    [5, first.cid],
    [6, second.cid],
  ])
  const top = await folder([
    ['both', both.cid],
    ['empty', empty.cid],
  ])
  const car = carOf([top.cid], [top, both, first, second, empty])
  const change = fc.record({
    at: fc.nat(car.length - 1),
    byte: fc.nat(255),
    cut: fc.integer({ min: 0, max: 3 }),
  })
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), fc.boolean(), async (changes, is2) => {
      let bytes = is2 ? version2(car) : Buffer.from(car)
      for (const { at, byte, cut } of changes) {
        bytes[at % bytes.length] = byte
        if (cut === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])
        if (cut === 2) bytes = Buffer.concat([bytes.subarray(0, at), Uint8Array.of(byte), bytes.subarray(at)])
      }
      count += 1
      const answer = await importCar(ada, bytes, `path=/&name=${count}`)
      const body = (await answer.json()) as { cid?: string }
      if (answer.status === 400 || answer.status === 413) t.strictSame(await listed(ada, '/'), [])
      else {
        t.equal(answer.status, 200)
        const texts = { [String(top.cid)]: `/${count}/both`, [String(both.cid)]: `/${count}` }
        const path = texts[body.cid ?? '']
        if (path !== undefined) t.equal(await textOf(ada, path), 'firstsecond')
        await ada.fetch('/delete', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ path: `/${count}` }),
        })
      }
      t.strictSame(await spools(node), [])
    }),
    { numRuns: 60 },
  )
})

/** Waits until an answer is as expected. */
async function until(isReached: () => Promise<boolean>): Promise<void> {
  while (!(await isReached())) await setTimeout(10)
}

/** Names of files, as the links of a folder are sorted. They are written from the last one on. */
const manyNames = Array.from({ length: 150 }, (_, index) => `file ${String(index).padStart(3, '0')}`)

/** A body that sends its chunks, and then waits for its end. */
function body(...chunks: Uint8Array[]) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = chunks.shift()
      if (chunk !== undefined) controller.enqueue(chunk)
      else {
        await ended
        controller.close()
      }
    },
  })
  return { stream, end }
}

t.test('a client that leaves ends its import, and nothing stays of it', async (t) => {
  const node = await startedNode(t)
  const ada = await node.signIn()
  const content = await rawBlock('content')
  const top = await folder(manyNames.map((name) => [name, content.cid] as const))
  const car = carOf([top.cid], [top, content])

  const arriving = new AbortController()
  const upload = body(car.subarray(0, car.length - 10))
  const left = importCar(ada, upload.stream, 'path=/&name=a', { signal: arriving.signal })
  await until(async () => (await spools(node)).length === 1)
  arriving.abort()
  await t.rejects(left)
  upload.end()
  await until(async () => (await spools(node)).length === 0)
  t.strictSame(await listed(ada), [])

  const writing = new AbortController()
  const gone = importCar(ada, car, 'path=/&name=b', { signal: writing.signal })
  await until(async () => (await ada.fetch('/stat?path=/b/file%20000')).status === 200)
  writing.abort()
  await t.rejects(gone)
  await until(async () => (await spools(node)).length === 0)
  t.strictSame(await listed(ada), [])
  t.equal((await importCar(ada, car, 'path=/&name=b')).status, 200)
})

t.test('what others have put into the folder meanwhile stays', async (t) => {
  const node = await startedNode(t)
  const ada = await node.signIn()
  const content = await rawBlock('imported')
  const top = await folder(manyNames.map((name) => [name, content.cid] as const))
  const importing = importCar(ada, carOf([top.cid], [top, content]), 'path=/&name=shared')
  await until(async () => (await ada.fetch('/stat?path=/shared/file%20000')).status === 200)
  const put = await ada.fetch('/write?path=/shared/file%20149', { method: 'PUT', body: 'own' })
  t.equal(put.status, 200)
  const answer = await importing
  // On a busy machine, the import may have ended before.
  if (answer.status !== 200) {
    t.match([answer.status, await answer.json()], [409, { code: 'CONFLICT' }])
    t.strictSame(await listed(ada), ['/shared', '/shared/file 149'])
  }
  t.equal(await textOf(ada, '/shared/file 149'), 'own')
})

t.test('a user has two imports at a time, and others have theirs', async (t) => {
  const node = await startedNode(t)
  const ada = await node.signIn()
  const bob = await node.signIn()
  const only = await rawBlock('only')
  const car = carOf([only.cid], [only])
  const uploads = [body(car), body(car)]
  const running = uploads.map(({ stream }, index) => importCar(ada, stream, `path=/&name=${index}`))
  await until(async () => (await spools(node)).length === 2)
  const refused = await importCar(ada, car)
  t.equal(refused.status, 429)
  t.match(refused.headers.get('retry-after'), /^\d+$/)
  t.equal((await importCar(bob, car)).status, 200)
  for (const { end } of uploads) end()
  for (const answer of await Promise.all(running)) t.equal(answer.status, 200)
  t.equal((await importCar(ada, car)).status, 200)
})

t.test('a start removes the CARs that a crash has left', async (t) => {
  const data = await mkdtemp(join(tmpdir(), 'nodekeep-test-'))
  t.teardown(() => rm(data, { recursive: true, force: true }))
  const left = join(data, 'plugins', 'ipfs', 'not-in-backups', 'imports', 'left')
  await mkdir(left, { recursive: true })
  await writeFile(join(left, 'blocks.car'), 'part')
  const node = await startedNode(t, {}, data)
  t.strictSame(await spools(node), [])
})
