import { playCrashes } from './fixtures/play-crashes.ts'

/** A part of `npm run test:faults`. */
export default {
  name: 'After the thread of the journal is ended at any moment, the index, the journal and the files of a model agree.',
  defaultRounds: 1000,
  round: ({ seed }: { readonly seed: number }) => playCrashes(seed),
}
