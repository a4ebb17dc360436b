import type { Fault } from './fault.ts'
import { playModel } from './fixtures/sync-model.ts'

export default {
  name: 'Three devices and a node end with the same files, and nothing is lost, whatever happens to disks, network and processes of a model.',
  defaultRounds: 2000,
  round: ({ seed }) => playModel(seed),
} satisfies Fault
