import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { open, readdir } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { TestNode } from '@nodekeep/kernel/testing'
import { importBytes, importer } from 'ipfs-unixfs-importer'
import { base36 } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import t, { type Test } from 'tap'
import { isStored } from '../store/fixtures/store-stand.ts'
import { type Block, carBlocks, fixture, type PublishedNode, publishedNode } from './published-node.ts'

t.jobs = 3

async function startedNode(t: Test, holdMs?: number): Promise<PublishedNode> {
  const node = await publishedNode(holdMs)
  t.teardown(() => node.stop())
  return node
}

/** Publishes a CAR that Kubo made. */
async function publishFixture(node: PublishedNode, name: string): Promise<{ root: CID; blocks: Block[] }> {
  const car = await carBlocks(fixture(name))
  await node.add(car.blocks, car.root)
  await node.publish(car.root)
  return car
}

/** Publishes a file of random bytes. */
async function publishFile(node: PublishedNode, size: number): Promise<{ root: CID; content: Buffer }> {
  const content = randomBytes(size)
  const blocks: Block[] = []
  const put = async (cid: CID, bytes: Uint8Array) => {
    blocks.push({ cid, bytes })
    return cid
  }
  const { cid } = await importBytes(content, { put } as never, { profile: 'unixfs-v1-2025' })
  await node.add(blocks, cid)
  await node.publish(cid)
  return { root: cid, content }
}

/** Publishes a folder of files that contain their names: a large folder if there are many. */
async function publishFolder(node: PublishedNode, names: readonly string[]): Promise<CID> {
  const blocks: Block[] = []
  const put = async (cid: CID, bytes: Uint8Array) => {
    blocks.push({ cid, bytes })
    return cid
  }
  const files = names.map((path) => ({ path: `top/${path}`, content: Buffer.from(path) }))
  const shardSplitThresholdBytes = names.length > 100 ? 1 : 1024 * 1024
  for await (const { cid, path } of importer(files, { put } as never, {
    profile: 'unixfs-v1-2025',
    shardSplitThresholdBytes,
  })) {
    if (path !== 'top') continue
    await node.add(blocks, cid)
    await node.publish(cid)
    return cid
  }
  throw new Error('The importer made no folder.')
}

/** The paths to which a page leads, as a browser resolves them. */
function linksOf(page: string): string[] {
  const text = (attribute = '') => attribute.replaceAll('&amp;', '&').replaceAll('&#39;', "'")
  const base = new URL(text(/<base href="([^"]*)"/.exec(page)?.[1]), 'http://node')
  return Array.from(page.matchAll(/<a href="([^"]*)"/g), ([, link]) => {
    const { pathname, search } = new URL(text(link), base)
    return pathname + search
  })
}

const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer())

t.test('files and folders are read by their path, as other gateways read them', async (t) => {
  const node = await startedNode(t)
  const { root } = await publishFixture(node, 'dir-listing.car')
  const file = await node.fetch(`/ipfs/${root}/ą/ę/file-źł.txt`)
  t.equal(file.status, 200)
  const target = 'bafkreialihlqnf5uwo4byh4n3cmwlntwqzxxs2fg5vanqdi3d7tb2l5xkm'
  const content = await bytesOf(file)
  t.equal(
    createHash('sha256').update(content).digest('hex'),
    Buffer.from(CID.parse(target).multihash.digest).toString('hex'),
  )
  t.equal(file.headers.get('etag'), `"${target}"`)
  t.equal(file.headers.get('content-type'), 'text/plain; charset=utf-8')
  t.equal(file.headers.get('cache-control'), 'public, max-age=29030400, immutable')
  t.equal(
    file.headers.get('x-ipfs-path'),
    `/ipfs/${root}/${['ą', 'ę', 'file-źł.txt'].map(encodeURIComponent).join('/')}`,
  )
  t.equal(
    file.headers.get('x-ipfs-roots'),
    [
      root,
      'bafybeidx5mxi45eqpzxsxdbz4v7gnza6f6arwhnrj5aqak2yqxhlspphta',
      'bafybeih24awytf2cmnuycs4nslllfrdzhd6yliyzgd7mxwuxcgv2gm5mda',
      target,
    ].join(),
  )
  t.match(file.headers.get('content-security-policy'), /default-src 'none'.*sandbox/)
  t.equal(file.headers.get('x-content-type-options'), 'nosniff')
  t.equal(file.headers.get('set-cookie'), null)

  const percent = await publishFixture(node, 'dir-with-percent-encoded-filename.car')
  const name = encodeURIComponent('Portugal%2C+España=Peninsula Ibérica.txt')
  t.equal(
    await (await node.fetch(`/ipfs/${percent.root}/${name}`)).text(),
    'hello from a percent encoded filename\n',
  )
})

t.test('a file in a large folder is found by the hash of its name', async (t) => {
  const node = await startedNode(t)
  const { root } = await publishFixture(node, 'single-layer-hamt-with-multi-block-files.car')
  for (const name of ['1.txt', '470.txt', '685.txt', '1000.txt']) {
    const answer = await node.fetch(`/ipfs/${root}/${name}`)
    t.equal(answer.status, 200, name)
    t.equal((await bytesOf(answer)).length, 1026, name)
  }
  t.equal((await node.fetch(`/ipfs/${root}/0.txt`)).status, 404)
  t.equal((await node.fetch(`/ipfs/${root}/470.txt/x`)).status, 404, 'nothing is in a file')

  // Two levels, and names that look like places in a node.
  const names = [...Array.from({ length: 400 }, (_, index) => `file ${index}`), '00', 'FF', '0F', 'é']
  const deep = await publishFolder(node, names)
  for (const name of [...names.slice(0, 30), ...names.slice(-4)]) {
    const answer = await node.fetch(`/ipfs/${deep}/${encodeURIComponent(name)}`)
    t.equal(answer.status, 200, name)
    t.equal(await answer.text(), name)
  }
  const list = await (await node.fetch(`/ipfs/${deep}`)).text()
  for (const name of names.slice(-4)) t.match(list, `/${encodeURIComponent(name)}">`)
  t.equal(list.split('<tr>').length - 1, names.length)
})

t.test('a CID has version 0 or 1, in base32, base36 or base58', async (t) => {
  const node = await startedNode(t)
  const { root } = await publishFixture(node, 'gateway-raw-block.car')
  const ascii = 'hello application/vnd.ipld.raw\n'
  for (const text of [
    root.toString(),
    root.toString(base36),
    root.toString(base58btc),
    root.toV0().toString(),
  ]) {
    const answer = await node.fetch(`/ipfs/${text}/dir/ascii.txt`)
    t.equal(answer.headers.get('x-ipfs-path'), `/ipfs/${text}/dir/ascii.txt`)
    t.equal(await answer.text(), ascii, text)
  }
  const zero = await publishFixture(node, 'symlink.car')
  t.equal(zero.root.version, 0)
  for (const text of [zero.root.toString(), zero.root.toV1().toString(), zero.root.toV1().toString(base36)])
    t.equal(await (await node.fetch(`/ipfs/${text}/foo`)).text(), 'content\n', text)
  const link = await node.fetch(`/ipfs/${zero.root}/bar`)
  t.equal(link.status, 422, 'a symbolic link is not followed')
  t.match(await link.json(), { code: 'UNPROCESSABLE', message: /symbolic link/ })
})

t.test('everything that is not published has the same answer', async (t) => {
  const node = await startedNode(t)
  const answers: string[] = []
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await node.fetch(path, { headers })
    const { 'x-request-id': _id, date: _date, ...rest } = Object.fromEntries(answer.headers)
    answers.push(JSON.stringify([answer.status, rest, await answer.text()]))
    return answer.status
  }
  const stranger = CID.parse('bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4')
  t.equal(await ask(`/ipfs/${stranger}`), 404, 'before anything was stored')
  t.equal(await ask('/ipfs/nonsense'), 404)

  const { root, blocks } = await carBlocks(fixture('dir-with-files.car'))
  await node.add(blocks, root)
  t.equal(await ask(`/ipfs/${stranger}`), 404, 'stored, and not published')
  t.equal(await ask(`/ipfs/${root}`), 404)
  t.equal(await ask(`/ipfs/${root}/hello.txt?format=car`), 404)
  const other = (await publishFile(node, 10)).root
  t.equal(await ask(`/ipfs/${stranger}`), 404)
  t.equal(await ask(`/ipfs/${root.toV0()}`, { accept: 'application/vnd.ipld.raw' }), 404)
  const hash = createHash('sha256').update('x').digest()
  t.equal(
    await ask(
      `/ipfs/${CID.createV1(0x71, { code: 0x12, digest: hash, size: 32, bytes: Buffer.concat([Buffer.from([0x12, 0x20]), hash]) })}`,
    ),
    404,
    'another codec',
  )
  t.equal(await ask('/ipfs/bafkqaf3imvwgy3zaneqgc3janfxgy2lomvscay3jmqfa'), 404, 'an identity CID')
  t.equal(await ask(`/ipfs/${'z'.repeat(5000)}`), 404)
  t.equal(await ask(`/ipfs/${other}x`), 404)
  t.equal(await ask(`/ipfs/${other}/x`), 404, 'nothing is in a file')
  t.equal(new Set(answers).size, 1, answers.join('\n'))

  await node.publish(root)
  t.equal((await node.fetch(`/ipfs/${root}/hello.txt`)).status, 200)
  t.equal((await node.fetch(`/ipfs/${stranger}`)).status, 200, 'a file below a published folder')
  await node.withdraw(root)
  t.equal(await ask(`/ipfs/${root}/hello.txt`), 404)
  t.equal(new Set(answers).size, 1)
})

t.test('ranges, HEAD and conditions are answered as RFC 9110 says', async (t) => {
  const node = await startedNode(t)
  const { root, content } = await publishFile(node, 3 * 1024 * 1024 + 5)
  const url = `/ipfs/${root}`
  const whole = await node.fetch(url)
  t.equal(whole.headers.get('content-length'), String(content.length))
  t.ok((await bytesOf(whole)).equals(content))
  const mebi = 1024 * 1024
  const ranges: [string, number, number][] = [
    ['bytes=0-0', 0, 0],
    [`bytes=${mebi - 1}-${mebi}`, mebi - 1, mebi],
    [`bytes=${mebi}-${2 * mebi - 1}`, mebi, 2 * mebi - 1],
    ['bytes=-7', content.length - 7, content.length - 1],
    [`bytes=${3 * mebi}-`, 3 * mebi, content.length - 1],
    ['bytes=5-99999999999', 5, content.length - 1],
  ]
  for (const [range, start, end] of ranges) {
    const part = await node.fetch(url, { headers: { range } })
    t.equal(part.status, 206, range)
    t.equal(part.headers.get('content-range'), `bytes ${start}-${end}/${content.length}`)
    t.ok((await bytesOf(part)).equals(content.subarray(start, end + 1)), range)
  }
  const beyond = await node.fetch(url, { headers: { range: `bytes=${content.length}-` } })
  t.equal(beyond.status, 416)
  t.equal(beyond.headers.get('content-range'), `bytes */${content.length}`)
  for (const headers of [{ range: 'bytes=0-1,5-6' }, { range: 'bytes=0-1', 'if-range': '"other"' }]) {
    const answer = await node.fetch(url, { headers })
    t.equal(answer.status, 200)
    await answer.body?.cancel()
  }
  const same = await node.fetch(url, { headers: { range: 'bytes=0-1', 'if-range': `"${root}"` } })
  t.equal(same.status, 206)

  const head = await node.fetch(url, { method: 'HEAD', headers: { range: 'bytes=0-1' } })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), String(content.length))
  for (const tag of [`"${root}"`, `W/"${root}"`, `"a", "${root}"`, '*']) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await node.fetch(url, { method, headers: { 'if-none-match': tag } })
      t.equal(answer.status, 304, `${method} ${tag}`)
      t.equal(answer.headers.get('etag'), `"${root}"`)
    }
  }
  t.equal((await node.fetch(url, { method: 'HEAD', headers: { 'if-none-match': '"x"' } })).status, 200)
  for (const method of ['POST', 'DELETE', 'PUT']) t.equal((await node.fetch(url, { method })).status, 405)

  const empty = await publishFile(node, 0)
  const nothing = await node.fetch(`/ipfs/${empty.root}`)
  t.equal(nothing.status, 200)
  t.equal((await bytesOf(nothing)).length, 0)
})

t.test('a folder is a list without scripts, and no page of its own', async (t) => {
  const node = await startedNode(t)
  const { root } = await publishFixture(node, 'gateway-cache.car')
  const list = await node.fetch(`/ipfs/${root}/root2/root3/root4/`)
  t.equal(list.status, 200)
  const text = await list.text()
  t.strictSame(linksOf(text).slice(0, 2), [
    `/ipfs/${root}/root2/root3`,
    `/ipfs/${root}/root2/root3/root4/index.html`,
  ])
  t.match(list.headers.get('content-security-policy'), /default-src 'none'.*sandbox/)
  const tag = list.headers.get('etag') ?? ''
  t.match(tag, /^"DirIndex-.*_CID-bafybeifq2rzpqnqrsdupncmkmhs3ckxxjhuvdcbvydkgvch3ms24k5lo7q"$/)
  const again = await node.fetch(`/ipfs/${root}/root2/root3/root4/`, { headers: { 'if-none-match': tag } })
  t.equal(again.status, 304)
  const page = await node.fetch(`/ipfs/${root}/root2/root3/root4/index.html`)
  t.match(page.headers.get('content-disposition'), /^attachment/)
  for (const destination of ['script', 'style', 'worker', 'serviceworker']) {
    const headers = { 'sec-fetch-dest': destination }
    const refused = await node.fetch(`/ipfs/${root}/root2/root3/root4/index.html`, { headers })
    t.equal(refused.status, 403, destination)
  }

  const hostile = [
    '<script>alert(1)<script>',
    '"><img src=x onerror=alert(1)>',
    'javascript:alert(1)',
    '\u202etxt.exe',
    `a'b&c`,
  ]
  const top = await publishFolder(node, hostile)
  const shown = await (await node.fetch(`/ipfs/${top}`)).text()
  t.notMatch(shown, /<script|<img|href="javascript/)
  const links = linksOf(shown)
  t.equal(links.length, hostile.length + 1)
  for (const link of links) {
    const answer = await node.fetch(link)
    t.equal(answer.status, 200, link)
    await answer.body?.cancel()
  }

  const deep = Array.from({ length: 15 }, () => 'folder'.repeat(40)).join('/')
  const deepTop = await publishFolder(
    node,
    Array.from({ length: 100 }, (_, index) => `${deep}/${index}`),
  )
  const small = await (await node.fetch(`/ipfs/${deepTop}/${deep}`)).text()
  t.equal(linksOf(small).length, 102)
  t.ok(small.length < 50_000, 'a page has its long path a few times only')
})

t.test('names of others that lead out are names', async (t) => {
  const node = await startedNode(t)
  const { root } = await publishFixture(node, 'outside-root.car')
  const list = await (await node.fetch(`/ipfs/${root}`)).text()
  t.match(list, 'href="./..%2Ffoo"')
  t.equal(await (await node.fetch(`/ipfs/${root}/..%2Ffoo`)).text(), 'Hello, world!\n')
  t.equal((await node.fetch(`/ipfs/${root}/foo`)).status, 404)
  const { root: inside } = await publishFixture(node, 'inside-root.car')
  t.equal((await node.fetch(`/ipfs/${inside}/foobar/file`)).status, 404)
  t.equal((await node.fetch(`/ipfs/${inside}/foobar/directory/..%2Ffile`)).status, 200)
})

t.test('a block is sent as it is', async (t) => {
  const node = await startedNode(t)
  const { root, blocks } = await publishFixture(node, 'gateway-raw-block.car')
  const paths = ['', '/dir', '/dir/ascii.txt']
  for (const [index, { cid, bytes }] of blocks.entries()) {
    for (const [query, headers] of [
      ['?format=raw', {}],
      ['', { accept: 'application/vnd.ipld.raw' }],
      ['?format=raw', { accept: 'application/vnd.ipld.car' }],
    ] as const) {
      for (const path of [`/ipfs/${root}${paths[index]}`, `/ipfs/${cid}`]) {
        const answer = await node.fetch(`${path}${query}`, { headers })
        t.ok((await bytesOf(answer)).equals(bytes), path)
        t.equal(answer.headers.get('content-type'), 'application/vnd.ipld.raw')
        t.equal(answer.headers.get('content-length'), String(bytes.length))
        t.match(answer.headers.get('content-disposition'), /^attachment; filename=/)
        t.equal(answer.headers.get('x-content-type-options'), 'nosniff')
        t.equal(answer.headers.get('etag'), `"${cid}.raw"`)
        t.match(answer.headers.get('vary'), /accept/i)
        t.equal(answer.headers.get('access-control-allow-origin'), '*')
      }
    }
  }
  const part = await node.fetch(`/ipfs/${root}?format=raw`, { headers: { range: 'bytes=2-4' } })
  t.equal(part.status, 206)
  t.ok((await bytesOf(part)).equals(Buffer.from(blocks[0]?.bytes ?? []).subarray(2, 5)))
  const named = await node.fetch(`/ipfs/${root}?format=raw&filename=foo%22bar.bin`)
  t.equal(named.headers.get('content-disposition'), 'attachment; filename="foo\\"bar.bin"')
  t.equal(
    (await node.fetch(`/ipfs/${root}?format=raw`, { method: 'HEAD' })).headers.get('content-length'),
    '51',
  )
  t.equal((await node.fetch(`/ipfs/${root}?format=tar`)).status, 400)
})

t.test('a CAR has the blocks that the path and the scope need, bit for bit as Kubo exports it', async (t) => {
  const node = await startedNode(t)
  const whole = [
    'dir-listing.car',
    'dir-with-files.car',
    'gateway-cache.car',
    'symlink.car',
    'single-layer-hamt-with-multi-block-files.car',
    'subdir-with-mixed-block-files.car',
    'subdir-with-two-single-block-files.car',
    'dag-pb.car',
    'outside-root.car',
  ]
  for (const name of whole) {
    const { root } = await publishFixture(node, name)
    for (const [query, accept] of [
      ['?format=car', '*/*'],
      ['', 'application/vnd.ipld.car; version=1; order=dfs; dups=n'],
    ] as const) {
      const answer = await node.fetch(`/ipfs/${root}${query}`, { headers: { accept } })
      t.equal(answer.status, 200)
      t.equal(answer.headers.get('content-type'), 'application/vnd.ipld.car; version=1; order=dfs; dups=n')
      t.match(answer.headers.get('content-disposition'), /^attachment; filename=\w+\.car$/)
      t.equal(answer.headers.get('x-content-type-options'), 'nosniff')
      t.match(answer.headers.get('etag'), /^W\/".*\.car\./)
      t.ok((await bytesOf(answer)).equals(fixture(name)), name)
    }
  }

  const car = await carBlocks(fixture('subdir-with-mixed-block-files.car'))
  const { root } = car
  const cids = car.blocks.map(({ cid }) => String(cid))
  const [top, subdir, ascii, hello, multi, ...chunks] = cids
  const blocksOf = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await node.fetch(path, { headers })
    t.equal(answer.status, 200, path)
    const { root: carRoot, blocks } = await carBlocks(await bytesOf(answer))
    return { root: String(carRoot), cids: blocks.map(({ cid }) => String(cid)) }
  }
  const scopes: [path: string, query: string, expected: (string | undefined)[]][] = [
    ['/subdir', '', [top, subdir, ascii, hello, multi, ...chunks]],
    ['/subdir', '&dag-scope=block', [top, subdir]],
    ['/subdir', '&dag-scope=entity', [top, subdir]],
    ['/subdir', '&dag-scope=entity&entity-bytes=0:*', [top, subdir]],
    ['/subdir/ascii.txt', '&dag-scope=entity', [top, subdir, ascii]],
    ['/subdir/multiblock.txt', '&dag-scope=block', [top, subdir, multi]],
    ['/subdir/multiblock.txt', '&dag-scope=all', [top, subdir, multi, ...chunks]],
    ['/subdir/multiblock.txt', '&dag-scope=entity&entity-bytes=0:*', [top, subdir, multi, ...chunks]],
  ]
  for (const [path, query, expected] of scopes)
    t.strictSame((await blocksOf(`/ipfs/${root}${path}?format=car${query}`)).cids, expected, path + query)
  // Chunks of 256 bytes, the last one of 2.
  const ranges: [string, (string | undefined)[]][] = [
    ['0:0', chunks.slice(0, 1)],
    ['0:255', chunks.slice(0, 1)],
    ['0:256', chunks.slice(0, 2)],
    ['512:*', chunks.slice(2)],
    ['512:1023', chunks.slice(2, 4)],
    ['512:-256', chunks.slice(2, 4)],
    ['-5:*', chunks.slice(3)],
    ['-9999:*', chunks],
    ['-9999:-3', chunks.slice(0, 4)],
    ['2000:*', []],
    ['9:3', []],
  ]
  for (const [range, expected] of ranges) {
    const got = await blocksOf(`/ipfs/${multi}?format=car&dag-scope=entity&entity-bytes=${range}`)
    t.strictSame(got, { root: multi, cids: [multi, ...expected] }, range)
  }

  const { root: twice } = await carBlocks(fixture('dir-with-files.car'))
  const all = await blocksOf(`/ipfs/${twice}`, { accept: 'application/vnd.ipld.car; order=dfs; dups=y' })
  t.equal(all.cids.filter((cid) => cid === ascii).length, 2, 'a block that two names have comes twice')
  t.equal(all.cids.length, 10)
  const byQuery = await blocksOf(`/ipfs/${twice}?format=car&car-dups=y`, {
    accept: 'application/vnd.ipld.car; dups=n',
  })
  t.strictSame(byQuery.cids, all.cids, 'the query goes before the header')

  const large = await carBlocks(fixture('single-layer-hamt-with-multi-block-files.car'))
  const found = await blocksOf(`/ipfs/${large.root}/470.txt?format=car&dag-scope=block`)
  t.strictSame(
    [found.cids[0], found.cids[1], found.cids[2]],
    [String(large.root), String(large.blocks[1]?.cid), multi],
    'the node of the large folder that leads to the name',
  )
  t.equal(found.root, multi)
  const nodes = await blocksOf(`/ipfs/${large.root}?format=car&dag-scope=entity`)
  t.equal(nodes.cids.length, large.blocks.length - 6, 'all nodes of the folder, and none of its files')

  for (const query of [
    'dag-scope=x',
    'entity-bytes=1',
    'entity-bytes=a:b',
    'car-version=2',
    'car-order=x',
    'car-dups=2',
  ])
    t.equal((await node.fetch(`/ipfs/${root}?format=car&${query}`)).status, 400, query)
  t.equal((await node.fetch(`/ipfs/${root}/none?format=car`)).status, 404)
  const head = await node.fetch(`/ipfs/${root}?format=car`, { method: 'HEAD' })
  t.equal(head.status, 200)
  const tag = head.headers.get('etag') ?? ''
  t.equal((await node.fetch(`/ipfs/${root}?format=car`, { headers: { 'if-none-match': tag } })).status, 304)
  const other = await node.fetch(`/ipfs/${root}?format=car&dag-scope=block`, {
    headers: { 'if-none-match': tag },
  })
  t.equal(other.status, 200)
  t.not(other.headers.get('etag'), tag)
})

/** Opens a connection that asks, and reads nothing until it is told to. */
async function reader(node: TestNode, path: string, localAddress?: string): Promise<Socket> {
  const socket = connect({ port: Number(node.url.port), host: node.url.hostname, localAddress })
  socket.pause()
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${node.url.host}\r\nconnection: close\r\n\r\n`)
  return socket
}

/** Waits until an answer is as expected. */
async function until(answers: () => Promise<boolean>): Promise<void> {
  while (!(await answers())) await setTimeout(10)
}

t.test('an address gets a number of answers at a time, also if it reads none', async (t) => {
  const node = await startedNode(t)
  // More than the sockets take.
  const { root, content } = await publishFile(node, 24 * 1024 * 1024)
  const small = await publishFile(node, 10)
  const path = `/ipfs/${root}`
  const readers = await Promise.all(Array.from({ length: 16 }, () => reader(node, path)))
  t.teardown(() => {
    for (const socket of readers) socket.destroy()
  })
  let refused: Response | undefined
  await until(async () => {
    refused = await node.fetch(`/ipfs/${small.root}`)
    await refused.clone().text()
    return refused.status === 429
  })
  t.match(await refused?.json(), { code: 'TOO_MANY_REQUESTS' })
  t.match(refused?.headers.get('retry-after'), /^\d+$/)
  const stranger = await node.fetch('/ipfs/bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4')
  t.equal(stranger.status, 404, 'what is not published stays unknown')
  for (const socket of readers.slice(1)) socket.destroy()
  await until(async () => (await node.fetch(`/ipfs/${small.root}`)).status === 200)

  const [slow] = readers as [Socket]
  await node.withdraw(root)
  t.equal((await node.fetch(path)).status, 404)
  // Other changes let the store remove what nothing needs.
  for (let index = 0; index < 3; index += 1) await publishFile(node, 100)
  const received: Buffer[] = []
  slow.on('data', (chunk: Buffer) => received.push(chunk))
  slow.resume()
  await once(slow, 'close')
  const answer = Buffer.concat(received)
  t.ok(answer.subarray(answer.indexOf('\r\n\r\n') + 4).equals(content), 'the reading that had begun went on')
  const store = await node.store()
  await until(async () => !(await isStored(store.view, root)))
})

t.test('readers of several addresses that read nothing do not keep all answers from others', async (t) => {
  const node = await startedNode(t)
  const { root } = await publishFile(node, 24 * 1024 * 1024)
  const small = await publishFile(node, 10)
  const addresses = [2, 3, 4, 5].flatMap((number) => Array(16).fill(`127.0.0.${number}`))
  const readers = await Promise.all(addresses.map((address) => reader(node, `/ipfs/${root}`, address)))
  t.teardown(() => {
    for (const socket of readers) socket.destroy()
  })
  // More than 32 MiB wait for them, so the node closes some.
  await until(async () => (await node.fetch(`/ipfs/${small.root}`)).status === 200)
})

t.test('a reader that never ends keeps neither what is withdrawn nor what others remove', async (t) => {
  const node = await startedNode(t, 20)
  const { root } = await publishFile(node, 24 * 1024 * 1024)
  const other = await publishFile(node, 1000)
  const slow = await reader(node, `/ipfs/${root}`)
  t.teardown(() => slow.destroy())
  const closed = new Promise((resolve) => slow.once('close', resolve))
  const store = await node.store()
  await node.withdraw(other.root)
  await until(async () => !(await isStored(store.view, other.root)))
  t.ok(await isStored(store.view, root))
  await node.withdraw(root)
  await store.compact()
  t.notOk(await isStored(store.view, root))
  slow.resume()
  await closed
})

t.test('a flipped bit ends the answer, and the log names it', async (t) => {
  const node = await startedNode(t)
  const { root, content } = await publishFile(node, 3 * 1024 * 1024)
  const packs = join(node.dataFolder, 'plugins', 'ipfs', 'not-in-backups', 'packs')
  const [name] = await readdir(packs)
  const file = await open(join(packs, name as string), 'r+')
  const { bytesRead: _read, buffer } = await file.read(Buffer.alloc(4 * 1024 * 1024), 0, 4 * 1024 * 1024, 0)
  const place = buffer.indexOf(content.subarray(2 * 1024 * 1024, 2 * 1024 * 1024 + 64))
  await file.write(Uint8Array.of((content[2 * 1024 * 1024] ?? 0) ^ 1), 0, 1, place)
  await file.close()
  for (const query of ['', '?format=car']) {
    const answer = await node.fetch(`/ipfs/${root}${query}`)
    t.equal(answer.status, 200)
    await t.rejects(answer.arrayBuffer(), 'the client sees that the answer is not whole')
  }
  t.ok(node.lines.some((line) => /are damaged on the disk/.test(line)))
  const part = await node.fetch(`/ipfs/${root}`, { headers: { range: 'bytes=0-1048575' } })
  t.ok((await bytesOf(part)).equals(content.subarray(0, 1024 * 1024)), 'other blocks are read')
})
