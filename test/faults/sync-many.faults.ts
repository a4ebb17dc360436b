import assert from 'node:assert/strict'
import type { Fault } from './fault.ts'
import { syncMany } from './sync-many.ts'

const files = 100_000

/**
 * Mebibytes that the node may use on top of its memory before a sync. The heap of V8 grows until its first full collection: the first
 * sync takes some 190, and each later one 15 to 25.
 */
const nodeAllowance = 250

/** Mebibytes of a client. It keeps the paths of its folder in memory. */
const clientAllowance = 600

export default {
  name: 'The first sync of 100,000 files, and 100,000 changes that a device has missed, take at most 250 MiB of the node and 600 MiB of a client.',
  defaultRounds: 1,
  roundSeconds: 3600,
  async round({ log }) {
    for (const { what, node, client } of await syncMany(files, log)) {
      assert.ok(node <= nodeAllowance, `${what}: the node took ${node.toFixed(0)} MiB`)
      assert.ok(client <= clientAllowance, `${what}: the client took ${client.toFixed(0)} MiB`)
    }
  },
} satisfies Fault
