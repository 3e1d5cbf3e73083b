"""What the paper defines: its two kinds of data, their laws, the gains of kernels, and the network."""
