import type { Fault } from './fault.ts'
import { WebdavPlay } from './webdav-play.ts'

export default {
  name: 'Two WebDAV clients with locks get the answers of a model, and the files are as in it, by WebDAV and by the own routes.',
  defaultRounds: 100,
  round: (round) => WebdavPlay.run(round),
} satisfies Fault
