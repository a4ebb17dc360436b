import type { Fault } from './fault.ts'
import { sharesFuzz } from './shares-fuzz.ts'

/** 100,000 requests in all. */
export default {
  name: 'No request of a guest reaches anything outside of the shared folder.',
  defaultRounds: 100,
  roundSeconds: 300,
  round: (round) => sharesFuzz(round, 1000),
} satisfies Fault
