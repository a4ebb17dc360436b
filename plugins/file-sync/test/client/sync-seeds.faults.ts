import { playModel } from './model/play-model.ts'

/** A part of `npm run test:faults`. */
export default {
  name: 'Three devices and a node end with the same files, and nothing is lost, whatever happens to disks, network and processes of a model.',
  defaultRounds: 2000,
  round: ({ seed }: { readonly seed: number }) => playModel(seed),
}
