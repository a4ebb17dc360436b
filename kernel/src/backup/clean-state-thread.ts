import { answerInThread } from '@nodekeep/plugin-sdk/threads'
import { cleanState, type ListedUser } from './clean-state.ts'

/** The data that the thread is started with. */
export interface CleaningOrder {
  readonly from: string
  readonly to: string
  readonly moment: number
}

await answerInThread<CleaningOrder, never, Record<string, ListedUser>>(({ from, to, moment }) =>
  cleanState(from, to, moment),
)
