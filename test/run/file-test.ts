/** Stands for tap in test files that share a process: it exports the test of the file that runs, and is rebound for each file. */
import type { Test } from 'tap'

let t: Test
let test: Test['test']

export { t as default, test }

/** Sets the test of the file that runs next. */
export function begin(fileTest: Test): void {
  t = fileTest
  test = fileTest.test
}
