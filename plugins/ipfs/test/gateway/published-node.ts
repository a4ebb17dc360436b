import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CarReader } from '@ipld/car'
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { CID } from 'multiformats/cid'
import { gatewayRoutes } from '../../src/gateway/gateway-routes.ts'
import { LazyStore } from '../../src/store/lazy-store.ts'
import { linksOf } from '../../src/store/links.ts'
import type { Store } from '../../src/store/store.ts'

/** A block of a CAR. */
export interface Block {
  readonly cid: CID
  readonly bytes: Uint8Array
}

/** A node whose gateway serves what a test publishes. */
export interface PublishedNode extends TestNode {
  readonly lines: string[]
  store(): Promise<Store>
  /** Stores blocks in any order, and returns when they are in the store. They are not published. */
  add(blocks: Iterable<Block>, root: CID): Promise<void>
  /** Publishes a block that is in the store, with all below it. */
  publish(root: CID): Promise<void>
  /** Takes the publication back, and lets the store remove what nothing needs any more. */
  withdraw(root: CID): Promise<void>
}

export async function publishedNode(holdMs?: number): Promise<PublishedNode> {
  const lines: string[] = []
  const reachable = new Map<string, Set<string>>()
  const keyOf = (cid: Uint8Array) => Buffer.from(cid).toString('hex')
  let lazy: LazyStore | undefined
  const plugin = definePlugin({
    id: 'ipfs',
    setup({ dataDir, sqliteFile, routes, log, onStop }) {
      const packs = join(dataDir, 'not-in-backups', 'packs')
      const store = new LazyStore(packs, () => sqliteFile('index', { inBackups: false }), log)
      lazy = store
      onStop(() => store.close())
      const isPublished = (cid: Uint8Array) => [...reachable.values()].some((cids) => cids.has(keyOf(cid)))
      routes((app) => gatewayRoutes(app, store, { isPublished }, holdMs))
    },
  })
  const node = await createTestNode({ plugins: [plugin], onLog: (line) => lines.push(line) })
  const store = () => (lazy as LazyStore).open()
  return {
    ...node,
    lines,
    store,
    async add(blocks, root) {
      const byCid = new Map(Array.from(blocks, (block) => [String(block.cid.toV1()), block]))
      const opened = await store()
      const session = opened.session()
      const put = async (cid: CID): Promise<void> => {
        const block = byCid.get(String(cid.toV1()))
        byCid.delete(String(cid.toV1()))
        if (block === undefined) return
        for (const link of linksOf(cid.bytes, block.bytes)) await put(CID.decode(link))
        await session.put(cid, block.bytes.slice())
      }
      await put(root)
      await opened.change([{ kind: 'root', holder: `test:${root}`, cid: root.toV1().bytes }])
      session.end()
    },
    async publish(root) {
      const { view } = await store()
      const cids = new Set<string>()
      const waiting = [root]
      for (let cid = waiting.pop(); cid !== undefined; cid = waiting.pop()) {
        if (cids.has(keyOf(cid.bytes))) continue
        cids.add(keyOf(cid.bytes))
        for (const link of linksOf(cid.bytes, await view.get(cid))) waiting.push(CID.decode(link))
      }
      reachable.set(String(root), cids)
    },
    async withdraw(root) {
      reachable.delete(String(root))
      await (await store()).change([{ kind: 'root', holder: `test:${root}`, cid: null }])
    },
  }
}

/** Reads a CAR. */
export async function carBlocks(bytes: Uint8Array): Promise<{ root: CID; blocks: Block[] }> {
  const reader = await CarReader.fromBytes(bytes)
  const [root] = await reader.getRoots()
  return { root: root as CID, blocks: await Array.fromAsync(reader.blocks()) }
}

/** A CAR that Kubo made. */
export function fixture(name: string): Buffer<ArrayBuffer> {
  return readFileSync(new URL(`../fixtures/gateway-conformance/${name}`, import.meta.url))
}
