import { answerInThread } from '@nodekeep/plugin-sdk/threads'
import { type Adoption, adoptDatabase } from './adopt-database.ts'

/** The data that the thread is started with. */
export interface AdoptionOrder {
  readonly file: string
  readonly moment: number
}

await answerInThread<AdoptionOrder, never, Adoption>(({ file, moment }) => adoptDatabase(file, moment))
