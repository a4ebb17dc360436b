/**
 * The module that test files which share a process get as tap: the test of the file that runs. The exports are rebound for each
 * file, which its imports see.
 */
import type { Test } from 'tap'

export let t: Test
export let test: Test['test']
export { t as default }

/** Sets the test of the file that runs next. */
export function setFileTest(fileTest: Test): void {
  t = fileTest
  test = fileTest.test
}
