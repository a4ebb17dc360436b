/** For programs of people: asks a node in turns whether files are stored, and says the outcome in words. It runs in browsers, too. */
export { type CheckedAnswer, FolderCheck, type HashedFile } from './folder-check.ts'
export { reasonOf, sentenceOf, type Tally } from './words.ts'
