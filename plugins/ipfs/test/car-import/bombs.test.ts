import { setTimeout as delay } from 'node:timers/promises'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { identity } from 'multiformats/hashes/identity'
import t from 'tap'
import { type Block, carOf, file, folder, rawBlock, node as unixFsBlock } from './cars.ts'
import { importCar, listed, spools, startedNode } from './import-node.ts'

t.test('a small CAR of many files is refused before any file is written', async (t) => {
  const node = await startedNode(t, { maxImportBytes: 4 * 1024 * 1024 })
  const ada = await node.signIn()
  // Each level has the one below twice.
  const doubled = async (make: (below: Block) => Promise<Block>, leaf: Block, count: number) => {
    const blocks = [leaf]
    for (let level = 0; level < count; level += 1) blocks.push(await make(blocks.at(-1) as Block))
    return carOf([(blocks.at(-1) as Block).cid], blocks)
  }
  const good = await rawBlock('good')
  const empty = await rawBlock('')
  const megabyte = await rawBlock(new Uint8Array(1024 * 1024))
  const bomb = await file(Array.from({ length: 8 }, () => [1024 * 1024, megabyte.cid] as const))
  const nothing = CID.createV1(raw.code, identity.digest(new Uint8Array(0)))
  const fewParts = await file(Array.from({ length: 10_000 }, () => [0, nothing] as const))
  const parts = await file(Array.from({ length: 10_000 }, () => [0, fewParts.cid] as const))
  const manyLinks = await folder(Array.from({ length: 16_385 }, () => ['', nothing] as const))
  const manySizes = await unixFsBlock({ type: 'file', blockSizes: Array(900_000).fill(1n) }, [])
  const links = (count: number, { cid }: Block) =>
    folder(Array.from({ length: count }, (_, index) => [String(index).padStart(4, '0'), cid] as const))
  const symlink = await unixFsBlock({ type: 'symlink', data: Buffer.from('target') }, [])
  const symlinks = await links(1000, symlink)
  const foldersOfSymlinks = await links(101, symlinks)
  const longSymlink = await unixFsBlock({ type: 'symlink', data: new Uint8Array(2_000_000) }, [])
  const longSymlinks = await links(50, longSymlink)
  const cases: Record<string, [car: Uint8Array, status: number, message: RegExp]> = {
    'a file of many times one block': [carOf([bomb.cid], [bomb, megabyte]), 413, /files of the CAR/],
    'doubled folders': [
      await doubled(
        ({ cid }) =>
          folder([
            ['a', cid],
            ['b', cid],
          ]),
        good,
        40,
      ),
      413,
      /files and folders/,
    ],
    'doubled empty parts': [
      await doubled(
        ({ cid }) =>
          file([
            [0, cid],
            [0, cid],
          ]),
        empty,
        40,
      ),
      413,
      /repeats more/,
    ],
    'more parts than other implementations link': [
      carOf([parts.cid], [parts, fewParts]),
      400,
      /more links than the parts/,
    ],
    'a block of many links that have their blocks in themselves': [
      carOf([manyLinks.cid], [manyLinks]),
      400,
      /more than the 16384 links/,
    ],
    'a block of many sizes of parts': [carOf([manySizes.cid], [manySizes]), 400, /more than the 16384 links/],
    'folders of symbolic links': [
      carOf([foldersOfSymlinks.cid], [foldersOfSymlinks, symlinks, symlink]),
      413,
      /files and folders/,
    ],
    'a large block that is no content, many times': [
      carOf([longSymlinks.cid], [longSymlinks, longSymlink]),
      413,
      /repeats blocks of more/,
    ],
  }
  for (const [name, [car, status, message]] of Object.entries(cases)) {
    const answer = await importCar(ada, car as Uint8Array<ArrayBuffer>)
    t.equal(answer.status, status, name)
    t.match(await answer.json(), { error: true, message }, name)
    t.strictSame(await listed(ada), [], name)
    t.strictSame(await spools(node), [], name)
  }
})

t.test('a CAR of a million tiny blocks is refused, and others are answered meanwhile', async (t) => {
  const node = await startedNode(t)
  const ada = await node.signIn()
  const blocks: Block[] = []
  for (let index = 0; index < 300; index += 1) blocks.push(await rawBlock(String(index)))
  const first = blocks[0] as Block
  const head = carOf([first.cid], [])
  const sections = carOf([first.cid], blocks).subarray(head.length)
  let sent = 0
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(sent === 0 ? head : sections)
      sent += 1
      if (sent > 3400) controller.close()
    },
  })
  let others = 0
  const importing = importCar(ada, stream).then(async (answer) => ({
    status: answer.status,
    body: await answer.json(),
  }))
  const isDone = importing.then(() => true)
  while (!(await Promise.race([isDone, node.fetch('/whoami').then(() => false)]))) {
    others += 1
    await delay(5)
  }
  const { status, body: refusal } = await importing
  t.equal(status, 413)
  t.match(refusal, { message: /at most 250000 blocks/ })
  t.ok(others > 5, `${others} answers to others`)
  t.strictSame(await spools(node), [])
})
