export function buildPage(): Promise<void>;
export function buildPlots(): Promise<void>;
