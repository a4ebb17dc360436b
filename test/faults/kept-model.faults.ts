import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Fault } from './fault.ts'
import { KeptPlay } from './kept-play.ts'

export default {
  name: 'With crashes and faults at any step of the disk, files, trash and versions are as in a model, on a disk and on stores without a step for folders.',
  defaultRounds: 2000,
  async round(round) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-kept-model-'))
    try {
      await new KeptPlay(round, dataFolder).run()
    } finally {
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
