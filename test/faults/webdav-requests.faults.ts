import type { Fault } from './fault.ts'
import { webdavRequestsRound } from './webdav-requests-round.ts'

/** 100,000 requests in all. */
export default {
  name: 'Requests to WebDAV that are wrong in any way are answered without a status from 500.',
  defaultRounds: 100,
  round: (round) => webdavRequestsRound(round, 1000),
} satisfies Fault
