/**
 * Lets tap run the teardowns of a test before it removes the folder of the test. It does both in the order in which the test first asked
 * for a folder and for a teardown. So a test that makes its folder first, and then starts a node in it, would lose the folder under
 * the running node. If the node wrote a file meanwhile, the removal would fail, and tap would not run the teardown any more: the node
 * would run on for as long as the process.
 */
import tap, { type Test } from 'tap'

const askForTeardown = (t: Pick<Test, 'teardown'>) => t.teardown(() => {})

askForTeardown(tap)
tap.beforeEach(askForTeardown)
