import type { Fault } from './fault.ts'
import { hostileRound } from './hostile-round.ts'

/** 10,000 files in all. */
export default {
  name: 'Hostile files crash nothing, reach nothing outside, and delay nobody.',
  defaultRounds: 50,
  roundSeconds: 600,
  round: (round) => hostileRound(round, { files: 200, slowestHealthMs: 100 }),
} satisfies Fault
