import { shownName } from '../../shown-name.ts'
import * as texts from '../../texts.ts'
import type { Told } from './tasks.ts'

/** Says what was done to one entry, or to how many. */
export function toldOf(done: (entry: string) => string): Told {
  return (names) =>
    done(names.length === 1 ? texts.files.quoted(shownName(names[0])) : texts.files.count(names.length))
}
